// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import Networking
internal import Synchronization

/// Follows the redirections of an HTTP address to which headers are sent that can be secret. libavformat would send
/// them to every server to which it is redirected.
struct HTTPRedirection: Sendable, Equatable {
    private static let statuses: Set = [301, 302, 303, 307, 308]
    private static let mostRedirections = 8
    private static let timeout = Duration.seconds(5)
    /// The queue of the requests for which a thread waits.
    private static let tasks = TaskQueue(label: "relay.http.redirections")

    /// The address that was asked first.
    let first: String
    /// The address to open.
    private(set) var url: String
    /// Whether the headers are sent to that address: it belongs to the same server as the first one.
    private(set) var keepsHeaders = true
    /// Whether all servers that had to be asked have answered.
    private(set) var isAnswered = false
    private var redirections = 0

    init(_ url: String) { (first, self.url) = (url, url) }

    /// Goes to the address in a response with this status and this location. Returns whether the server there has to be
    /// asked, too: it may redirect again. After the first other server, libavformat may follow all redirections.
    mutating func follow(status: Int, location: String?) -> Bool {
        isAnswered = true
        guard Self.statuses.contains(status), let location, let next = PlaylistHead.resolve(location, in: url),
            Self.isHTTP(next)
        else { return false }
        redirections += 1
        keepsHeaders = redirections < Self.mostRedirections && ServerAddress(url)?.mayGetHeaders(at: next) == true
        url = next
        isAnswered = !keepsHeaders
        return keepsHeaders
    }

    /// Whether `url` is an HTTP address. A server can also name files of this machine.
    static func isHTTP(_ url: String) -> Bool {
        let lower = url.lowercased()
        return lower.hasPrefix("http://") || lower.hasPrefix("https://")
    }

    /// Asks the servers, from `url` on. Blocks for some seconds for each of them, until `interrupter` interrupts it. If
    /// a server does not answer, the result is the address at which it was asked.
    static func resolve(
        _ url: String, _ fields: [(name: String, value: String)], _ interrupter: Interrupter
    ) -> HTTPRedirection {
        var result = HTTPRedirection(url)
        while let head = ask(result.url, fields, interrupter),
            result.follow(status: head.status, location: head.location)
        {}
        return result
    }

    private final class Answer: Sendable {
        let head = Mutex<HTTPClient.Head?>(nil)
        let isDone = DispatchSemaphore(value: 0)
    }

    private static func ask(
        _ url: String, _ fields: [(name: String, value: String)], _ interrupter: Interrupter
    ) -> HTTPClient.Head? {
        // libavformat verifies no certificate, either.
        guard let endpoint = try? HTTPEndpoint(withoutUser(url)) else { return nil }
        let client = HTTPClient(endpoint, trust: .insecure)
        let answer = Answer()
        let task = Task(executorPreference: tasks) {
            // Only the head of the response matters, so servers need not send more than one byte.
            let request = HTTPClient.Request("GET", headers: fields + [(name: "Range", value: "bytes=0-0")])
            let head = try? await client.answer(to: request, within: Self.timeout, readsBody: false).head
            answer.head.withLock { $0 = head }
            answer.isDone.signal()
        }
        let deadline = DispatchTime.now() + .seconds(6)
        while answer.isDone.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            guard interrupter.isInterrupted || .now() >= deadline else { continue }
            task.cancel()
            return nil
        }
        return answer.head.withLock { $0 }
    }

    /// `url` without user, password and fragment. libavformat sends a password only when the server asks for it, and in
    /// the way that the server asks for.
    static func withoutUser(_ url: String) -> String {
        let plain = url.prefix { $0 != "#" }
        guard let mark = plain.firstRange(of: "://") else { return String(plain) }
        let authority = plain[mark.upperBound...].prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@") else { return String(plain) }
        return String(plain[..<mark.upperBound] + plain[plain.index(after: at)...])
    }
}

extension InputLocation {
    /// Follows the redirections of `url`, an address of this input, if headers belong to it; nil without headers. The
    /// servers are asked if the answer is not among the `known` ones.
    func redirection(
        of url: String, _ known: KnownRedirections, _ interrupter: Interrupter
    ) -> HTTPRedirection? {
        let fields = connection.headerFields
        return fields.isEmpty ? nil : known.find(url) { HTTPRedirection.resolve(url, fields, interrupter) }
    }

    /// Follows the redirections of `url` like ``redirection(of:_:_:)``. Another protocol may be around HTTP, as in
    /// `cache:http://…`; it is around the result, too.
    func redirected(
        _ url: String, _ known: KnownRedirections, _ interrupter: Interrupter
    ) -> (url: String, keepsHeaders: Bool)? {
        guard let start = url.firstRange(of: "http")?.lowerBound,
            let found = redirection(of: String(url[start...]), known, interrupter)
        else { return nil }
        return (String(url[..<start]) + found.url, found.keepsHeaders)
    }
}
