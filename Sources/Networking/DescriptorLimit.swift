// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The limit for open descriptors of this process.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit if possible, and returns the soft limit; 1024 if it is unknown. The
    /// usual soft limit of 1024 exists for programs that call `select`, which relay does not call.
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

    /// The number of descriptors that can still be opened; nil if the system does not tell it. Reads a directory with
    /// an entry for each open descriptor.
    package static var free: Int? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        guard let directory = opendir("/proc/self/fd") else { return [EMFILE, ENFILE].contains(errno) ? 0 : nil }
        defer { closedir(directory) }
        // The count starts below 0, because the entries `.` and `..` and the descriptor of the directory itself do not
        // count.
        var open = -3
        while readdir(directory) != nil { open += 1 }
        return max(0, Int(clamping: limit.rlim_cur) - open)
    }

    /// Whether this process cannot open a connection or a file now, which needs up to four descriptors.
    package static var isExhausted: Bool {
        var copies: [CInt] = []
        defer { for copy in copies { close(copy) } }
        for _ in 0..<4 {
            let copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { return errno == EMFILE }
            copies.append(copy)
        }
        return false
    }

    /// Returns a sentence for the operator if all outputs together need more than `limit` descriptors; otherwise nil.
    /// `descriptors` is the number that the outputs need.
    package static func shortage(descriptors: Int, limit: Int) -> String? {
        let needed = needed(descriptors)
        guard needed > limit else { return nil }
        return "The outputs need \(needed) open files, and this process may have \(limit): raise the hard limit "
            + "(ulimit -Hn, or LimitNOFILE= of the service)."
    }

    /// How many descriptors the process needs if its outputs need `descriptors`.
    package static func needed(_ descriptors: Int) -> Int { descriptors + base }

    /// How many descriptors the inputs, the recorder, the libraries and the log need.
    private static let base = 128
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
