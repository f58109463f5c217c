// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import RTMP

private final class Receiver: RTMPStreamReceiver {
    func publicationBegan(_ publication: RTMPPublication) {}
    func publication(_ publication: RTMPPublication, sent message: RTMPPublishedMessage) {}
    func publication(_ publication: RTMPPublication, ended end: RTMPPublication.End) {}
}

private final class Host: RTMPPlayerHost {
    func joined(_ player: RTMPPlayer) {}
}

@Suite("Streams of an RTMP server")
struct RTMPEndpointTests {
    private func request(_ action: RTMPStreamRequest.Action, _ name: String) -> RTMPStreamRequest {
        RTMPStreamRequest(action, app: "live", name: name, client: "", capabilities: RTMPCapabilities())
    }

    private func offered(_ options: String) throws -> RTMPEndpoint {
        let url = try RTMPListenURL("rtmp-listen:///live/program\(options)", for: .output)
        return RTMPEndpoint(url, .offer(Host()), authorization: nil)
    }

    private func received() throws -> RTMPEndpoint {
        let url = try RTMPListenURL("rtmp-listen:///live/secret-key", for: .input)
        return RTMPEndpoint(url, .receive(Receiver()), authorization: nil)
    }

    @Test("A client gets a stream only with the stream's direction, its name and its key for players")
    func matches() throws {
        let keyed = try offered("?key=abc")
        #expect(keyed.matches(request(.play, "program?key=abc")))
        for name in ["program", "program?key=", "program?key=abd", "program?key=abcabc", "programs?key=abc"] {
            #expect(!keyed.matches(request(.play, name)), "\(name)")
        }
        #expect(!keyed.matches(request(.publish, "program?key=abc")))
        #expect(try offered("").matches(request(.play, "program")))
        let input = try received()
        #expect(input.matches(request(.publish, "secret-key")) && !input.matches(request(.publish, "secret-kez")))
        #expect(!input.matches(request(.play, "secret-key")))
    }

    @Test("A stream takes no more players than its address says, and none after it was cancelled")
    func players() throws {
        let endpoint = try offered("?players=2")
        #expect(endpoint.enter() && endpoint.enter() && !endpoint.enter())
        endpoint.leave()
        #expect(endpoint.players == 1 && endpoint.enter())
        endpoint.leave()
        endpoint.cancel()
        #expect(!endpoint.enter() && endpoint.players == 1)
    }

    @Test("The late end of a publication that was taken over does not end its successor")
    func takeover() throws {
        let endpoint = try received()
        let publications = (0..<2).map { _ in
            RTMPPublication(request: request(.publish, "secret-key"), address: "192.0.2.1") { _, _ in }
        }
        for publication in publications { #expect(endpoint.begin(publication)) }
        endpoint.end(publications[0])
        #expect(endpoint.publication === publications[1])
        endpoint.end(publications[1])
        #expect(endpoint.publication == nil)
    }

    @Test("Cancelling a stream ends the connection of the client that publishes it, and lets no other client begin")
    func cancel() throws {
        let endpoint = try received()
        let ends = Atomic(0)
        let publication = RTMPPublication(request: request(.publish, "secret-key"), address: "192.0.2.1") {
            _, control in
            if case .end(.cancelled) = control { ends.add(1, ordering: .relaxed) }
        }
        #expect(endpoint.begin(publication))
        endpoint.cancel()
        #expect(ends.load(ordering: .relaxed) == 1)
        #expect(!endpoint.begin(publication))
    }
}
