// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing

@testable import Networking

@Suite struct BlockingWorkTests {
    @Test("Four hundred blocking calls at the same time do not delay other work")
    func manyBlock() {
        let (started, gate, last) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        for index in 0..<400 {
            let code = BlockingWork.start("work \(index)") {
                started.signal()
                gate.wait()
                last.signal()
            }
            #expect(code == 0)
        }
        let all = (0..<400).allSatisfy { _ in started.wait(timeout: .now() + 20) == .success }
        #expect(all)
        let others = DispatchSemaphore(value: 0)
        DispatchQueue(label: "another").async { others.signal() }
        #expect(others.wait(timeout: .now() + 20) == .success)
        for _ in 0..<400 { gate.signal() }
        let ended = (0..<400).allSatisfy { _ in last.wait(timeout: .now() + 20) == .success }
        #expect(ended)
    }
}
