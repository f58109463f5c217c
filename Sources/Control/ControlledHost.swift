// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Library
package import Media
package import Status
package import Studio

/// The HTTP server's view of the process: its state and its commands. Any thread may call it.
package protocol ControlledHost: Sendable {
    /// The channels' names, in the order of the configuration.
    var channels: [String] { get }
    /// Returns the channel of this name; nil if it does not exist. Returns at once.
    func channel(_ name: String) -> (any ControlledChannel)?
    /// Reads the configuration file again, and returns how many channels have changed. Blocks while channels end, and
    /// while ports and directories are opened.
    func reload() throws(Refusal) -> Int
    /// The jobs that export clips from recordings.
    var exports: ExportJobs { get }
    /// Begins a job that exports a clip. Blocks on the disk.
    func startExport(_ request: ExportRequest) throws(Refusal) -> ExportJob
    /// Plans the export of several clips as one file: which parts would be copied, and which would be re-encoded.
    /// Writes nothing. Blocks on the disk; throws if inspecting the clips takes longer than 5 s.
    func planExport(_ request: ExportRequest) throws(Refusal) -> ExportPlan
    /// The number of wrong stream keys, stream IDs and passphrases that clients have presented, by protocol.
    var wrongStreamKeys: [String: UInt64] { get }
    /// Tests an output's address, and its backup address if it has one, without going live. Blocks for at most 25 s for
    /// each address.
    func check(_ address: String) -> AddressCheck
}

/// One channel of a ``ControlledHost``. Any thread may call it.
package protocol ControlledChannel: Sendable {
    /// A snapshot of the channel's state. Returns at once.
    var report: ChannelReport { get }
    /// The packets that go on air; nil while the channel is not open.
    var stream: PacketStream? { get }

    /// The channel's recordings; nil if it has no directory for them. Returns at once.
    var archive: ChannelArchive? { get }
    /// Returns the recordings of one of the channel's sources; nil if the source is not recorded. Returns at once.
    func archive(ofSource source: String) -> ChannelArchive?

    /// The clips of the recordings; nil if the channel has no directory for them. Returns at once.
    var clips: ClipStore? { get }

    /// Returns the director of a program with several sources. Throws if the channel has no such program. Returns at
    /// once.
    func program() throws(Refusal) -> Director

    /// Adds a live output and returns its name. The address has the same form as on the command line. Blocks on the
    /// disk and, if the output listens, until its port is open.
    func addOutput(_ address: String) throws(Refusal) -> String
    /// Gives an output another address or other options, under the same name. Blocks like ``addOutput(_:)``.
    func replaceOutput(_ name: String, by address: String) throws(Refusal)
    /// Removes an output. Returns at once.
    func removeOutput(_ name: String) throws(Refusal)
    /// Takes an output off air, or puts it on air again. Returns at once.
    func setPaused(_ isPaused: Bool, output name: String) throws(Refusal)
    /// Makes an output connect now if it waits for its next attempt, was refused, or has given up. Returns at once.
    func retryOutput(_ name: String) throws(Refusal)

    /// Starts the recording, in each of its directories. Blocks until they have answered: for at most 32 s, unless a
    /// file system hangs.
    func startRecording() throws(Refusal)
    /// Stops the recording; ``startRecording()`` starts it again. Returns at once.
    func stopRecording() throws(Refusal)
    /// Begins a new file at the next keyframe. Returns at once.
    func splitRecording() throws(Refusal)
    /// Makes the uploader retry all files that failed or were given up. Returns at once.
    func retryUploads() throws(Refusal)
    /// Queues a finished file for upload again if `isWanted` is true, or else gives up its upload. The file is a
    /// recording of `source`, or of the program if `source` is nil. Blocks on the disk.
    func setUploaded(_ isWanted: Bool, recording id: String, source: String?) throws(Refusal)
    /// Requests a keyframe. Returns at once.
    func requestKeyframe() throws(Refusal)
    /// Marks this moment of the program with `text`, in every output and recording that can carry it. Returns at once.
    func mark(_ text: String) throws(Refusal) -> Marker
}

/// A moment of the program that an operator has marked.
package struct Marker: Sendable, Codable, Equatable {
    /// The wall-clock time of the moment, in ISO 8601 format.
    package var time: String
    /// The program time of the moment, in seconds.
    package var programSeconds: Double
    /// The text of the mark.
    package var text: String

    package init(time: String, programSeconds: Double, text: String) {
        (self.time, self.programSeconds, self.text) = (time, programSeconds, text)
    }
}

/// The result of testing an output's address.
package struct AddressCheck: Sendable, Codable, Equatable {
    /// One step of testing an output's address.
    package struct Step: Sendable, Codable, Equatable {
        /// The result of one step of the test.
        package enum State: String, Sendable, Codable {
            /// The step succeeded, or found only a possible problem.
            case ok
            /// The step failed.
            case failed
        }

        /// The step's name: `address` for the form of the address, `reach` for the place that it names, or `backup` for
        /// the place that the backup address names.
        package var name: String
        /// The result of the step.
        package var state: State
        /// A sentence about the result, without secrets.
        package var detail: String

        package init(_ name: String, _ state: State, _ detail: String) {
            (self.name, self.state, self.detail) = (name, state, detail)
        }
    }

    /// Whether an output with this address would probably work.
    package var isUsable: Bool
    /// The steps of the test, in order. The test ends if the first step, `address`, fails.
    package var steps: [Step]

    /// A result with these steps.
    package init(_ steps: [Step]) {
        self.steps = steps
        isUsable = steps.allSatisfy { $0.state == .ok }
    }
}
