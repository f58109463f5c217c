// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Channel
internal import Dispatch
internal import Foundation
internal import Glibc
internal import Ingest
internal import Logging
internal import Media
internal import Networking
internal import Program
internal import Segmenter
internal import Status
internal import Studio
internal import Synchronization

/// Makes a file from a run-down. A channel plays the run-down as fast as possible, and records it in a hidden directory
/// beside the file. When the show is complete, the recording gets the name of the file. The directory is removed in any
/// case.
final class RenderJob {
    /// The maximum length of the recording's file. It is longer than any show, because the whole show must be in one
    /// file.
    private static let longest = Duration.seconds(30 * 86_400)

    private let channel: Channel
    private let length: RenderLength
    private let output: String
    private let replaces: Bool
    private let directory: RenderDirectory
    private let clock = SystemClock()

    /// Opens the inputs of `configuration`. `length` is the length of the show. ``RenderOutput`` must have accepted
    /// `output`. Blocks. Throws ``ChannelFailure``.
    init(
        _ configuration: inout ChannelConfiguration, length: RenderLength, output: String, replaces: Bool
    ) throws(ChannelFailure) {
        (self.length, self.output, self.replaces) = (length, output, replaces)
        let url = URL(fileURLWithPath: output)
        let place = url.deletingLastPathComponent().path
        guard access(place, W_OK) == 0 else {
            throw ChannelFailure(
                .cannotRecord, .makeFile(output),
                saying: "\(output) cannot be made in \(place): \(String(cString: strerror(errno))).")
        }
        directory = try RenderDirectory(beside: "\(place)/\(url.lastPathComponent)")
        configuration.recording = ChannelConfiguration.Recording(
            directory: directory.path, length: .duration(Self.longest), expected: length.duration ?? .seconds(3600),
            warning: .zero, reserve: nil)
        channel = try Channel(configuration, logger: Logger(label: "relay"))
    }

    /// Renders the whole show. Blocks. Calls `progress` with the number of finished frames and the number of all
    /// frames, which is 0 if it is not known. Returns a description of the result; nil if the job was cancelled. Throws
    /// ``ChannelFailure``.
    func run(
        progress: (_ done: Int64, _ total: Int64) -> Void, isCancelled: () -> Bool
    ) throws(ChannelFailure) -> String? {
        let began = clock.now
        let over = DispatchGroup()
        let end = Mutex(ChannelEnd.done)
        over.enter()
        MediaThread.start("relay.render") { [channel] in
            let result = channel.run()
            end.withLock { $0 = result }
            over.leave()
        }
        let rate = channel.status.frameRate
        let total = length.duration.map { rate.frames(atLeast: $0) } ?? 0
        var wasCancelled = false
        while over.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            progress(channel.status.program.frames, total)
            if isCancelled(), !wasCancelled {
                wasCancelled = true
                channel.end()
            } else if fault != nil || channel.status.recorder?.isInterrupted == true {
                // If a segment cannot be shown, or a part of the program is not recorded, the channel ends early,
                // because the incomplete file would not be kept.
                channel.end()
            }
        }
        if wasCancelled || isCancelled() { return nil }
        try check(end.withLock { $0 })
        try keep()
        let frames = channel.status.program.frames
        let seconds = rate.timeBase.duration(frames).inSeconds
        let speed = seconds / max(0.001, (clock.now - began).inSeconds)
        return
            "\(VerificationReport.clock(Int64(seconds * 1e9))), \(frames) frames, \((speed * 10).rounded() / 10) × real time"
    }

    /// Why a segment of the run-down could not be shown; nil if all could.
    private var fault: String? { channel.director?.runDownFailure }

    /// Throws unless the whole show was recorded correctly.
    private func check(_ end: ChannelEnd) throws(ChannelFailure) {
        if let failure = fault {
            throw ChannelFailure(
                .inputUnreadable, .playRunDown,
                saying: "A segment could not be shown, and nothing was made: \(failure)")
        }
        let made = channel.status
        let recorder = made.recorder ?? RecorderStatus()
        if let lack = recorder.lack(of: made.program.frames), end == .done || recorder.isInterrupted {
            throw ChannelFailure(
                .cannotRecord, .makeFile(output),
                saying: "\(output) could not be written as a whole, and was not made: \(lack).")
        }
        if case .failed(let cause) = end {
            let reason = made.sources.compactMap(\.lastError).first
            throw ChannelFailure(
                cause, .makeFile(output), saying: "The show could not be rendered\(reason.map { ": \($0)" } ?? ".")")
        }
    }

    /// Gives the recorded file the name of the output.
    private func keep() throws(ChannelFailure) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory.path))?.filter {
            $0.hasSuffix(".mp4")
        }
        guard let files, files.count == 1, let name = files.first else {
            throw ChannelFailure(
                .cannotRecord, .makeFile(output),
                saying: "The show could not be written as a whole to \(output). Is there room on the disk?")
        }
        do throws(FileFailure) {
            try FinishedFile.publish("\(directory.path)/\(name)", as: output, replaces: replaces)
        } catch {
            throw ChannelFailure(.cannotRecord, .makeFile(output), saidBy: error)
        }
    }
}
