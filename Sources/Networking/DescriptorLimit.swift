// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How many descriptors the process may hold.
package enum DescriptorLimit {
    /// Raises the limit to the hardest that this user may have, and returns it. The usual soft limit of 1024 is kept
    /// low for programs that call `select`, which we do not.
    @discardableResult
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// What keeps outputs that take `descriptors` in all from being held at a limit of `limit`: a sentence for the operator,
    /// or nil.
    package static func shortage(descriptors: Int, limit: Int) -> String? {
        let needed = descriptors + base
        guard needed > limit else { return nil }
        return "The outputs need \(needed) open files, and this process may have \(limit): raise the hard limit "
            + "(ulimit -Hn, or LimitNOFILE= of the service)."
    }

    /// For the inputs, the recorder, the libraries and the log.
    private static let base = 128
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
