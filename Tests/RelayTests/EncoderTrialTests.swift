// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Relay

@Suite struct EncoderTrialTests {
    @Test func `relay check compares the encoder's work with the cores that the process may use`() throws {
        #expect(try OneCore.run { EncoderTrial.available } == 1)
        #expect(EncoderTrial.available >= 1)
    }
}
