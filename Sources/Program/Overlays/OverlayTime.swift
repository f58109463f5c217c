// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Media

/// The readings of the overlay clocks at one frame.
package struct OverlayTime: Sendable, Equatable {
    /// A clock for an overlay's text.
    package enum Clock: String, Sendable, CaseIterable {
        /// Hours, minutes, seconds and frames since the beginning of the program. All frames are counted; it is not a
        /// drop-frame timecode.
        case timecode
        /// Hours, minutes and seconds of the machine's wall clock, in its time zone.
        case time

        /// The number of digits: two for each number.
        package var digits: Int { self == .timecode ? 8 : 6 }
    }

    private let frame: Int
    private let framesPerSecond: Int
    private let secondOfDay: Int

    /// The readings at program frame `index` at this rate. `secondOfDay` is the number of seconds that have passed of
    /// the day on the wall clock.
    package init(of index: FrameIndex, at rate: FrameRate, secondOfDay: Int) {
        (frame, framesPerSecond) = (max(0, Int(index.number)), Int(rate.value.rounded(.up)))
        self.secondOfDay = secondOfDay
    }

    /// Returns the digit of `clock` at `place`, counted from the left.
    package func digit(_ place: Int, of clock: Clock) -> Int {
        let seconds = clock == .timecode ? frame / framesPerSecond : secondOfDay
        let number =
            switch place / 2 {
            case 0: seconds / 3600 % 24
            case 1: seconds / 60 % 60
            case 2: seconds % 60
            default: frame % framesPerSecond
            }
        return place % 2 == 0 ? number / 10 % 10 : number % 10
    }

    /// The number of seconds that have passed of the day on the wall clock.
    static var secondOfDay: Int {
        var (seconds, parts) = (Glibc.time(nil), tm())
        guard localtime_r(&seconds, &parts) != nil else { return 0 }
        return Int(parts.tm_hour) * 3600 + Int(parts.tm_min) * 60 + Int(parts.tm_sec)
    }
}
