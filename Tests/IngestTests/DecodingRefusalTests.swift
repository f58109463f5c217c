// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Ingest

@Suite("Detection of a decoder that refuses everything")
struct DecodingRefusalTests {
    /// Passes this many packets of 40 ms to `refusal`, each of which is refused.
    private func refuse(
        _ refusal: inout DecodingRefusal, from start: Int, packets: Int, keyframes: Bool, errors: Bool = true
    ) {
        for index in start..<start + packets {
            refusal.note(packetAt: .zero + .milliseconds(40 * index), isKeyframe: keyframes && index % 25 == 0)
            if errors { refusal.noteError() }
        }
    }

    @Test("A decoder that refuses all packets counts as broken 1 s after the first keyframe")
    func keyframe() {
        var refusal = DecodingRefusal()
        refuse(&refusal, from: 0, packets: 25, keyframes: true)
        #expect(!refusal.isOver)
        refuse(&refusal, from: 25, packets: 1, keyframes: true)
        #expect(refusal.isOver)
    }

    @Test("In a stream joined within a GOP, a decoder has 1 s from the first keyframe on to output a frame")
    func joined() {
        var refusal = DecodingRefusal()
        refuse(&refusal, from: 1, packets: 249, keyframes: false)
        #expect(!refusal.isOver)
        refusal.note(packetAt: .zero + .milliseconds(40 * 250), isKeyframe: true)
        refuse(&refusal, from: 251, packets: 20, keyframes: false)
        #expect(!refusal.isOver)
        refusal.noteFrame()
        refuse(&refusal, from: 271, packets: 299, keyframes: false)
        #expect(!refusal.isOver)
        refuse(&refusal, from: 570, packets: 2, keyframes: false)
        #expect(refusal.isOver)
    }

    @Test("A decoder that returns neither frames nor errors does not count as broken")
    func silent() {
        var refusal = DecodingRefusal()
        refuse(&refusal, from: 0, packets: 100, keyframes: true, errors: false)
        #expect(!refusal.isOver)
    }

    @Test("From the second replacement on, each decoder has twice as long to output a frame as the last, up to 1 min")
    func replaced() {
        var refusal = DecodingRefusal()
        for second in [1, 1, 2, 4, 8, 16, 32, 60, 60] {
            refuse(&refusal, from: 0, packets: 25 * second, keyframes: true)
            #expect(!refusal.isOver)
            refuse(&refusal, from: 25 * second, packets: 1, keyframes: true)
            #expect(refusal.isOver)
            refusal.noteReplacement()
        }
        refusal.noteFrame()
        refuse(&refusal, from: 0, packets: 26, keyframes: true)
        #expect(refusal.isOver && refusal.replacements == 0)
    }
}
