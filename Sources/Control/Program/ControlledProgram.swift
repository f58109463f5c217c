// SPDX-License-Identifier: Apache-2.0

package import Media
package import Program
package import Status

/// What may be asked of a run-down.
package enum RunDownCommand: Sendable, Equatable {
    /// Begins with a segment.
    case start(segment: Int)
    /// Ends it; what is on air stays.
    case stop
    /// Goes on with the next segment.
    case next
    /// Lets nothing follow until it is told to go on.
    case hold
    /// Goes on where it was held, or cut away from.
    case resume
    /// Goes on with what would be on air by now.
    case follow
}

/// A program of several sources. All calls may come from any thread and return at once; what cannot be is refused as a
/// whole, and nothing changes on air.
package protocol ControlledProgram: Sendable {
    /// A snapshot.
    var report: ProgramReport { get }
    /// Puts a scene on air, by a cut unless a transition is given. Returns the frame at which that begins.
    func put(_ request: ProgramRequest) throws(Refusal) -> Int64
    /// Makes a scene, a transition or both ready.
    func prepare(_ request: ProgramRequest) throws(Refusal)
    /// Puts the preview on air by a cut, and what was on air into the preview. Returns the frame at which that begins.
    func take() throws(Refusal) -> Int64
    /// The same by the transition that was made ready.
    func auto() throws(Refusal) -> Int64
    /// Where the run-down is. Throws where none is loaded.
    func runDown() throws(Refusal) -> RunDownStatus
    /// Loads a run-down, YAML or JSON, instead of the one that is there. What is on air stays. Blocks on the disk: each of
    /// its files is looked at.
    func loadRunDown(_ text: String) throws(Refusal)
    /// Does something with the run-down. Returns the first frame at which that can be seen.
    func perform(_ command: RunDownCommand) throws(Refusal) -> Int64
    /// Takes back the change that waits for this frame.
    func withdraw(at frame: Int64) throws(Refusal)
    /// Changes the source of this name.
    func change(_ source: String, _ request: SourceRequest) throws(Refusal)
    /// Changes the overlay of this name. Returns the frame at which that begins. Blocks while a text is drawn.
    func changeOverlay(_ name: String, _ request: OverlayRequest) throws(Refusal) -> Int64
    /// What a source shows now, as a JPEG file of this width.
    func snapshot(of source: String, width: Int) throws(Refusal) -> [UInt8]
}
