// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import Archive
@testable import Segmenter

/// Records what a recorder reports.
final class RecordingWitness: RecordingObserver {
    private let state = Mutex<(records: [SegmentRecord], gaps: [RecordingGap], starts: [UTCTime])>(([], [], []))
    var records: [SegmentRecord] { state.withLock { $0.records }.sorted { $0.sequence < $1.sequence } }
    var gaps: [RecordingGap] { state.withLock { $0.gaps } }
    var gapStarts: [UTCTime] { state.withLock { $0.starts } }

    func segmentFinished(_ record: SegmentRecord) { state.withLock { $0.records.append(record) } }
    func segmentRecovered(fileName: String) {}
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {
        state.withLock { state in
            state.gaps.append(gap)
            state.starts.append(start)
        }
    }
}
