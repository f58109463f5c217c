// SPDX-License-Identifier: Apache-2.0

/// A program of several sources. All calls may come from any thread and return at once; what cannot be is refused as a
/// whole, and nothing changes on air.
package protocol ControlledProgram: Sendable {
    /// A snapshot.
    var report: ProgramReport { get }
    /// Puts a scene on air, by a cut unless a transition is given. Returns the frame at which that begins.
    func put(_ request: ProgramRequest) throws(ControlFailure) -> Int64
    /// Makes a scene, a transition or both ready.
    func prepare(_ request: ProgramRequest) throws(ControlFailure)
    /// Puts the preview on air by a cut, and what was on air into the preview. Returns the frame at which that begins.
    func take() throws(ControlFailure) -> Int64
    /// The same by the transition that was made ready.
    func auto() throws(ControlFailure) -> Int64
    /// Changes the source of this name.
    func change(_ source: String, _ request: SourceRequest) throws(ControlFailure)
    /// What a source shows now, as a JPEG file of this width.
    func snapshot(of source: String, width: Int) throws(ControlFailure) -> [UInt8]
}
