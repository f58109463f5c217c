// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Stores planned deletions until a client confirms them with the plan's token. Any thread may call the methods.
final class DeletionPlans: Sendable {
    /// The plan that belongs to a token.
    struct Plan {
        let subject: DeletionSubject
        let files: [DeletedRecording]
        let until: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(60)
    private static let most = 32

    private let plans = Mutex<[String: Plan]>([:])

    /// Stores a plan for one minute, and returns its token, which cannot be guessed. If 32 plans are stored already,
    /// the oldest one is discarded.
    func add(_ files: [DeletedRecording], for subject: DeletionSubject, now: ContinuousClock.Instant = .now) -> String {
        var generator = SystemRandomNumberGenerator()
        let token = (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        plans.withLock { plans in
            plans = plans.filter { $0.value.until > now }
            if plans.count >= Self.most, let oldest = plans.min(by: { $0.value.until < $1.value.until }) {
                plans[oldest.key] = nil
            }
            plans[token] = Plan(subject: subject, files: files, until: now + Self.lifetime)
        }
        return token
    }

    /// Removes and returns the plan of `token`, if it is for `subject` and not too old.
    func take(_ token: String, for subject: DeletionSubject, now: ContinuousClock.Instant = .now) -> Plan? {
        plans.withLock { plans in
            guard let plan = plans[token], plan.subject == subject else { return nil }
            plans[token] = nil
            return plan.until > now ? plan : nil
        }
    }
}
