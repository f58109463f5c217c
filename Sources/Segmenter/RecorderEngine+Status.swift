// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Synchronization

extension RecorderEngine {
    /// Brings the status up to date.
    func publish(isStopped: Bool = false) {
        environment.status.value.withLock { status in
            status.state = isStopped ? .stopped : state
            status.suspension = nil
            if case .suspended(let reason) = mode { status.suspension = reason }
            status.fileName = file?.name.open
            status.segmentBytes = file?.bytes ?? 0
            status.segmentSeconds = Double(file.map { $0.recordedEnd - $0.start } ?? 0) / 1e9
            status.totalBytes = closedBytes + (file?.bytes ?? 0)
            status.framesWritten = closedFrames + (file?.frames ?? 0)
            status.nextCut = file == nil ? nil : cutter.nextBoundary
            status.writeLatency = latency.status
            status.syncLatency = environment.synchroniser.latency
        }
    }

    private var state: RecorderState {
        switch mode {
        case .active: file == nil ? .waiting : .recording
        case .suspended: .suspended
        case .failed: .failed
        }
    }
}
