// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// What a test needs of the machine. Without it the test is skipped, with `reason`; but with `CI=true` it runs and
    /// fails by what is missing, because there a test that did not run has shown nothing.
    static func needs(_ condition: @autoclosure @escaping @Sendable () throws -> Bool, _ reason: Comment) -> Self {
        .enabled(if: try ProcessInfo.processInfo.environment["CI"] == "true" || condition(), reason)
    }
}
