// SPDX-License-Identifier: Apache-2.0

import Media

extension Instant {
    /// The moment that is `seconds` after zero.
    static func seconds(_ seconds: Double) -> Self { Self(nanoseconds: Int64((seconds * 1e9).rounded())) }
}
