// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import Networking
internal import Synchronization

extension HTTPRedirection {
    private static let timeout = Duration.seconds(5)
    /// Runs the HTTP requests. The thread that calls ``resolve(_:_:_:)`` waits for each of them.
    private static let tasks = TaskQueue(label: "relay.http.redirections")

    /// Asks one server after the other, beginning with the server of `url`. Blocks for up to 6 s for each server, or
    /// until `interrupter` interrupts the call. If a server does not answer, the result is the address at which it was
    /// asked.
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
        // Certificates are not verified, because libavformat does not verify them either.
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
}

extension InputLocation {
    /// Follows the redirections of `url`, an address of this input, if the input has headers; nil without headers. The
    /// servers are asked only if `known` does not contain their answer.
    func redirection(
        of url: String, _ known: KnownRedirections, _ interrupter: Interrupter
    ) -> HTTPRedirection? {
        let fields = connection.headerFields
        return fields.isEmpty ? nil : known.find(url) { HTTPRedirection.resolve(url, fields, interrupter) }
    }

    /// Follows the redirections of `url` like ``redirection(of:_:_:)``. If another protocol wraps HTTP, as in
    /// `cache:http://…`, it also wraps the result.
    func redirected(
        _ url: String, _ known: KnownRedirections, _ interrupter: Interrupter
    ) -> (url: String, keepsHeaders: Bool)? {
        guard let start = url.firstRange(of: "http")?.lowerBound,
            let found = redirection(of: String(url[start...]), known, interrupter)
        else { return nil }
        return (String(url[..<start]) + found.url, found.keepsHeaders)
    }
}
