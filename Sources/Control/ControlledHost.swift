// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Library
package import Media
package import Status
package import Studio

/// What the HTTP server sees of the process: values, and what may be asked of it. All calls may come from any thread.
package protocol ControlledHost: Sendable {
    /// The channels' names, in the order of the configuration.
    var channels: [String] { get }
    /// The channel of this name; nil if there is no such channel. Returns at once.
    func channel(_ name: String) -> (any ControlledChannel)?
    /// Reads the configuration file again, and returns how many channels it changed. Blocks as long as ports and
    /// directories take.
    func reload() throws(Refusal) -> Int
    /// Clips that are made of recordings.
    var exports: ExportJobs { get }
    /// Begins to make a clip. Blocks on the disk.
    func startExport(_ request: ExportRequest) throws(Refusal) -> ExportJob
    /// What would be copied, and what coded again, for a file of clips; nothing is made. Blocks on the disk, 5 s at most.
    func planExport(_ request: ExportRequest) throws(Refusal) -> ExportPlan
    /// Tries an output's address without going live. Blocks, 15 s at most.
    func check(_ address: String) -> AddressCheck
}

/// One channel of a ``ControlledHost``. All calls may come from any thread.
package protocol ControlledChannel: Sendable {
    /// A snapshot. Returns at once.
    var report: ChannelReport { get }
    /// What goes on air, in packets; nil while the channel is not open.
    var stream: PacketStream? { get }

    /// What was recorded; nil if no directory for it is known. Returns at once.
    var archive: ChannelArchive? { get }
    /// What was recorded of one of several sources; nil if that is not recorded. Returns at once.
    func archive(ofSource source: String) -> ChannelArchive?

    /// Clips of what is recorded; nil if no directory for it is known. Returns at once.
    var clips: ClipStore? { get }

    /// The program of several sources. Throws if there is no such program. Returns at once.
    func program() throws(Refusal) -> Director

    /// Adds a live output, written as the flag takes it, and returns its name. Blocks until a port that it listens at is
    /// open.
    func addOutput(_ address: String) throws(Refusal) -> String
    /// Puts an output of another address or other options in the place of one, under its name. Blocks as
    /// ``addOutput(_:)`` does.
    func replaceOutput(_ name: String, by address: String) throws(Refusal)
    /// Removes an output. Returns at once.
    func removeOutput(_ name: String) throws(Refusal)
    /// Takes an output off air, or puts it on air again. Returns at once.
    func setPaused(_ isPaused: Bool, output name: String) throws(Refusal)
    /// Tries an output at once. Returns at once.
    func retryOutput(_ name: String) throws(Refusal)

    /// Starts the recording. Blocks until the directory has answered, 22 s at most.
    func startRecording() throws(Refusal)
    /// Stops the recording; it stays so until ``startRecording()``. Returns at once.
    func stopRecording() throws(Refusal)
    /// Begins a new file with the next keyframe. Returns at once.
    func splitRecording() throws(Refusal)
    /// Tries at once to hand over all files that could not be handed over, or were given up. Returns at once.
    func retryUploads() throws(Refusal)
    /// Hands a finished file over again, or gives that up, as a recording of the program or of `source`. Blocks on the disk.
    func setUploaded(_ isWanted: Bool, recording id: String, source: String?) throws(Refusal)
    /// Asks for a keyframe. Returns at once.
    func requestKeyframe() throws(Refusal)
    /// Marks this moment of the program with `text`, in all that can carry it. Returns at once.
    func mark(_ text: String) throws(Refusal) -> Marker
}

/// A moment of the program that somebody marked.
package struct Marker: Sendable, Codable, Equatable {
    /// When, in ISO 8601.
    package var time: String
    /// The same in seconds of the program.
    package var programSeconds: Double
    /// What was said of it.
    package var text: String

    /// A marker.
    package init(time: String, programSeconds: Double, text: String) {
        (self.time, self.programSeconds, self.text) = (time, programSeconds, text)
    }
}

/// What a trial of an output's address found.
package struct AddressCheck: Sendable, Codable, Equatable {
    /// One step of it.
    package struct Step: Sendable, Codable, Equatable {
        /// How a step ended.
        package enum State: String, Sendable, Codable {
            /// It is well.
            case ok
            /// It is not.
            case failed
        }

        /// `address`, `reach` or `port`.
        package var name: String
        /// How it ended.
        package var state: State
        /// A sentence, without secrets.
        package var detail: String

        /// A step.
        package init(_ name: String, _ state: State, _ detail: String) {
            (self.name, self.state, self.detail) = (name, state, detail)
        }
    }

    /// Whether an output of this address would probably come on air.
    package var isUsable: Bool
    /// The steps, in their order; those behind one that failed are not made.
    package var steps: [Step]

    /// A check of these steps.
    package init(_ steps: [Step]) {
        self.steps = steps
        isUsable = steps.allSatisfy { $0.state == .ok }
    }
}
