// SPDX-License-Identifier: Apache-2.0

internal import Segmenter

extension RetentionRules {
    /// What is wrong with the rules for files of `length` on a disk of `capacity` bytes, recorded as `budget` says; nil
    /// if nothing is. A limit below one file would delete each as soon as it may.
    func contradiction(length: SegmentLength, budget: StorageBudget, capacity: Int64?) -> String? {
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
        if let minimumFree, let capacity, minimumFree.bytes(of: capacity) >= capacity {
            return "--keep-free \(minimumFree) is more than the disk holds (\(ByteSize(bytes: capacity))): give less."
        }
        return nil
    }
}
