// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Media

/// What the clocks in overlays show at one program frame.
package struct OverlayTime: Sendable, Equatable {
    /// A clock that an overlay's text can contain.
    package enum Clock: String, Sendable, CaseIterable {
        /// Hours, minutes, seconds and frames since the program began. All frames are counted, so this is not a
        /// drop-frame timecode.
        case timecode
        /// Hours, minutes and seconds of the machine's wall clock, in its time zone.
        case time

        /// How many digits the clock has: two for each number.
        package var digits: Int { self == .timecode ? 8 : 6 }
    }

    private let frame: Int
    private let framesPerSecond: Int
    private let secondOfDay: Int

    /// Creates what the clocks show at program frame `index` of a program with the frame rate `rate`. `secondOfDay` is
    /// the number of seconds since midnight on the wall clock.
    package init(of index: FrameIndex, at rate: FrameRate, secondOfDay: Int) {
        (frame, framesPerSecond) = (max(0, Int(index.number)), Int(rate.value.rounded(.up)))
        self.secondOfDay = secondOfDay
    }

    /// Returns one digit of `clock`. `place` counts the digits from the left, beginning with 0.
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

    /// The number of seconds since midnight on the wall clock, in the machine's time zone.
    static var secondOfDay: Int {
        var (seconds, parts) = (Glibc.time(nil), tm())
        guard localtime_r(&seconds, &parts) != nil else { return 0 }
        return Int(parts.tm_hour) * 3600 + Int(parts.tm_min) * 60 + Int(parts.tm_sec)
    }
}
