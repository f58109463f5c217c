// SPDX-License-Identifier: Apache-2.0

import HummingbirdCore
import Media
import NIOCore
import Synchronization
import Testing

@testable import Control

@Suite("Streamed HTTP responses")
struct StreamedBodyTests {
    private final class Session: Sendable {
        let isOver = Mutex(false)
    }

    @Test("A streamed response ends with its client's session, before the next piece is written")
    func sessionEnd() async throws {
        let session = Session()
        var request = ControlRequest.sample()
        request.isStillAdmitted = { session.isOver.withLock { !$0 } }
        let body = StreamedBody.body(of: request) { write in
            for number in 0..<5 {
                if number == 2 { session.isOver.withLock { $0 = true } }
                try await write(ByteBuffer(bytes: [UInt8(number)]))
            }
        }
        let collected = CollectedBody()
        let refusal = await #expect(throws: Refusal.self) {
            try await body.write(CollectedBody.Writer(body: collected))
        }
        #expect(refusal?.kind == .unauthenticated)
        #expect(collected.bytes == [0, 1] && !collected.isFinished)
    }
}
