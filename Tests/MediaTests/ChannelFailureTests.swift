// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@Suite("Failures of a channel")
struct ChannelFailureTests {
    private struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    @Test(
        "A channel's failure names the attempt and its object, and ends with the message of the underlying error",
        arguments: [
            (.openInput("srt://h:1"), "The input srt://h:1 cannot be opened: it is away."),
            (.openAudioInput("alsa:x"), "The audio input alsa:x cannot be opened: it is away."),
            (.openOutput("rtmp-1"), "The output rtmp-1 cannot be opened: it is away."),
            (.useCertificate, "The certificate cannot be used: it is away."),
            (.openEncoder(), "The encoder cannot be opened: it is away."),
            (.openEncoder(of: "the rendition a"), "The encoder of the rendition a cannot be opened: it is away."),
            (.measureLoudness, "Loudness cannot be measured: it is away."),
            (.writeFrameHashes("/tmp/x"), "Hashes of frames cannot be written: it is away."),
            (.showSlate, "The slate cannot be shown: it is away."),
            (.showOverlays, "The overlays cannot be shown: it is away."),
            (.showStinger("wipe"), "The stinger wipe cannot be shown: it is away."),
            (.playRunDown, "The run-down cannot be played: it is away."),
            (.record("/srv"), "Recording is not possible: it is away."),
            (.takeClip("/srv"), "There is no clip to be taken: it is away."),
            (.makeFile("show.mp4"), "show.mp4 cannot be made: it is away."),
        ] as [(ChannelFailure.Attempt, String)])
    func sentences(attempt: ChannelFailure.Attempt, sentence: String) {
        let fault = Fault(description: "it is away")
        let failure = ChannelFailure(.inputUnreadable, attempt, because: fault)
        #expect(failure.description == sentence && failure.attempt == attempt && failure.cause == .inputUnreadable)
        #expect(failure.error as? Fault == fault)
        // The reason may be detected by relay itself, or differ from the text of the error.
        let noticed = ChannelFailure(.configuration, attempt, because: "it is away")
        #expect(noticed.description == sentence && noticed.error == nil && noticed.cause == .configuration)
        let reworded = ChannelFailure(.configuration, attempt, because: "it is away", error: fault)
        #expect(reworded.description == sentence && reworded.error as? Fault == fault)
    }

    @Test("An error whose message already says what was attempted is shown unchanged")
    func saidBy() {
        let fault = Fault(description: "The input a.mp4 ended without a single frame.")
        let failure = ChannelFailure(.inputUnreadable, .openInput("a.mp4"), saidBy: fault)
        #expect(failure.description == fault.description && failure.error as? Fault == fault)
        let told = ChannelFailure(.configuration, .openInput("a.mp4"), saying: "Leave it out.")
        #expect(told.description == "Leave it out." && told.error == nil && told.attempt == .openInput("a.mp4"))
    }
}
