// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing

@testable import Upload

/// Asks whether a remote can be reached, before a stream goes on air.
@Suite struct RemoteAnswerTests {
    @Test
    func `If an rclone remote does not answer in time this is reported, and the start does not wait for it`() throws {
        let (silence, end) = AsyncStream.makeStream(of: String.self)
        let trouble = try Uploader.answer(within: .milliseconds(1)) {
            for await answer in silence { return .success(answer) }
            return .success(nil)
        }
        #expect(trouble == "rclone does not answer")
        end.finish()
    }

    @Test func `An rclone remote that is not configured is refused`() {
        #expect(throws: UploadRefusal.self) {
            _ = try Uploader.answer(within: .seconds(600)) {
                .failure(UploadRefusal("rclone has no remote of this name"))
            }
        }
    }
}
