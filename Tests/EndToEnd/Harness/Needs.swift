// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// A condition that the machine must fulfil for a test. Otherwise the test is skipped, with `reason`. But with
    /// `CI=true` the test runs, and fails because of what is missing, because a skipped test shows nothing.
    static func needs(_ condition: @autoclosure @escaping @Sendable () throws -> Bool, _ reason: Comment) -> Self {
        .enabled(if: try ProcessInfo.processInfo.environment["CI"] == "true" || condition(), reason)
    }
}
