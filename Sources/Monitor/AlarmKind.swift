// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// The subject of an alarm, which determines its texts for the log.
enum AlarmKind {
    case silence, black, frozen

    private var texts: (began: String, ended: String) {
        switch self {
        case .silence: ("the program's audio is silent", "the program's audio is not silent any more")
        case .black: ("the program's video is black", "the program's video is not black any more")
        case .frozen: ("the program's video is frozen", "the program's video moves again")
        }
    }

    /// Logs `event`, if there is one.
    func tell(_ event: Alarm.Event?, to logger: Logger) {
        switch event {
        case nil: break
        case .began(let since):
            logger.warning("\(texts.began)", metadata: ["since_s": "\(Self.seconds(since - .zero))"])
        case .ended(let length):
            logger.notice("\(texts.ended)", metadata: ["lasted_s": "\(Self.seconds(length))"])
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = duration.inMilliseconds / 100
        return "\(tenths / 10).\(tenths % 10)"
    }
}
