// SPDX-License-Identifier: Apache-2.0

import Testing

// End-to-end tests run in four lanes, side by side. In a lane there is one at a time, because each plays a program in
// real time; what shares something of the machine beyond its own files and ports is in one lane. The lanes last about
// as long as each other. A test's limit is there for a hang, and beyond what any busy machine needs.

/// The lane of outputs, of what is passed through to them, of renditions, of copies of sources, of what is stitched, and
/// of the command itself.
@Suite("End to end: outputs", .serialized, .timeLimit(.minutes(10)))
enum Serial {}

/// The lane of inputs, peers that fail, players, and ends.
@Suite("End to end: peers", .serialized, .timeLimit(.minutes(10)))
enum SerialPeers {}

/// The lane of recordings and disks, which has all loop devices to itself, and of switches from input to input.
@Suite("End to end: recordings", .serialized, .timeLimit(.minutes(10)))
enum SerialRecordings {}

/// The lane of what is operated, shown and cut: files, the API, programs of several sources, clips.
@Suite("End to end: shows", .serialized, .timeLimit(.minutes(10)))
enum SerialShows {}
