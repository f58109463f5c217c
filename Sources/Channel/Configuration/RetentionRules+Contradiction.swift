// SPDX-License-Identifier: Apache-2.0

internal import Media
package import Segmenter

extension RetentionRules {
    /// Describes what is wrong with the rules for files of `length` and a recording of the given `budget`; nil if
    /// nothing is wrong. For example, a limit that is smaller than one file would delete each file as soon as possible.
    package func contradiction(length: SegmentLength, budget: StorageBudget) -> String? {
        let file: (time: Duration, bytes: Int64)
        switch length {
        case .duration(let time): file = (time, budget.bytes(in: time))
        case .bytes(let bytes): file = (.seconds(bytes / max(1, budget.bytes(in: .seconds(1)))), bytes)
        }
        if let maximumAge, maximumAge < file.time {
            return "--keep \(DurationText(maximumAge)) is shorter than one file (about \(DurationText(file.time))): "
                + "give a longer time, or a shorter --segment."
        }
        if let maximumAge, maximumAge < minimumAge {
            return "--keep \(DurationText(maximumAge)) contradicts --keep-min \(DurationText(minimumAge)), which keeps "
                + "every file for longer: lower --keep-min too."
        }
        if let maximumBytes, maximumBytes < file.bytes {
            return "--keep-size \(ByteSize(bytes: maximumBytes)) is less than one file (about "
                + "\(ByteSize(bytes: file.bytes))): give a larger size, or a shorter --segment."
        }
        guard let minimumFree, let capacity = budget.capacity else { return nil }
        let disk = "the disk holds (\(ByteSize(bytes: capacity)))"
        if minimumFree.bytes(of: capacity) >= capacity {
            return "--keep-free \(minimumFree) is more than \(disk): give less."
        }
        return contradiction(of: minimumFree, file: file.bytes, budget, capacity)
    }

    /// Describes why `goal` bytes cannot be kept free on a disk that must also store files of `file` bytes each; nil if
    /// that is possible.
    private func contradiction(
        of goal: FreeSpaceGoal, file: Int64, _ budget: StorageBudget, _ capacity: Int64
    ) -> String? {
        let (size, disk) = (ByteSize(bytes: file), ByteSize(bytes: capacity))
        if goal.bytes(of: capacity) > capacity - file {
            return
                "--keep-free \(goal) leaves no room for one file (about \(size)) on a disk of \(disk): give less, or a "
                + "shorter --segment."
        }
        let reserve = ByteSize(bytes: budget.reserveBytes)
        if budget.retentionGoalBytes > capacity - file {
            return
                "--disk-reserve \(reserve) leaves no room for one file (about \(size)) on a disk of \(disk): give less, "
                + "or a shorter --segment."
        }
        let kept = budget.bytes(in: minimumAge)
        if kept > capacity - budget.reserveBytes {
            return
                "--keep-min \(DurationText(minimumAge)) keeps about \(ByteSize(bytes: kept)), which a disk of \(disk) "
                + "cannot hold beside --disk-reserve \(reserve): lower --keep-min."
        }
        return nil
    }
}
