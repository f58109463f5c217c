// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// Opens the input that a source decodes, each time that the source's ``ReopenLoop`` plays it. The first time, it
/// returns the input that was opened when the source was created; later, it opens the same location again.
final class RepeatedOpening: Sendable {
    private let location: InputLocation
    private let options: IngestOptions
    private let monitor: SourceMonitor
    private let first: Mutex<OpenedInput?>

    /// Creates an opening whose first input is `input`, which was opened at `location` with `options`.
    init(_ input: sending OpenedInput, at location: InputLocation, options: IngestOptions, monitor: SourceMonitor) {
        (self.location, self.options, self.monitor) = (location, options, monitor)
        first = Mutex(input)
    }

    /// Returns the input that `loop` plays next, and sets its properties in the source's status. Blocks while the input
    /// is opened.
    func open(in loop: ReopenLoop) throws(IngestError) -> OpenedInput {
        let input = try loop.isFirst ? takeFirst() : reopen(in: loop)
        let found = input.description.video
        monitor.update { status in
            status.state = .running
            // If the video of the reopened input is not known yet, the status keeps the previous video until the next
            // keyframe.
            if input.knowsVideo || status.video == nil { status.video = found }
        }
        return input
    }

    private func takeFirst() throws(IngestError) -> OpenedInput {
        let input = first.withLock { input in
            defer { input = nil }
            return input
        }
        guard let input else { throw IngestError.empty(input: location.description) }
        return input
    }

    private func reopen(in loop: ReopenLoop) throws(IngestError) -> OpenedInput {
        try loop.reopen(
            { () throws(IngestError) in
                try OpenedInput(location, options: options, isReopened: true, monitor: monitor)
            }, streams: { [$0.video, $0.audio].compactMap(\.self) })
    }
}
