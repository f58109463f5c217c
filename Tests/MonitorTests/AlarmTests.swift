// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Monitor

@Suite("Alarms")
struct AlarmTests {
    /// An alarm and the events that it reported, with their times in tenths of a second.
    private struct Trial {
        var alarm = Alarm(after: .seconds(2))
        var told: [(at: Int64, event: Alarm.Event)] = []
        private var now: Int64 = 0

        mutating func note(_ reading: Alarm.Reading, tenths: Int64) {
            for _ in 0..<tenths {
                let event = alarm.note(reading, from: at(now), to: at(now + 1))
                now += 1
                if let event { told.append((now, event)) }
            }
        }

        private func at(_ tenths: Int64) -> ProgramInstant { .zero + .milliseconds(tenths * 100) }
    }

    @Test("A fault that lasts long enough is reported with its beginning, and again a second after it ends")
    func beginAndEnd() {
        var trial = Trial()
        trial.note(.right, tenths: 5)
        trial.note(.faulty, tenths: 50)
        #expect(trial.alarm.status == AlarmStatus(isActive: true, seconds: 5, count: 1))
        trial.note(.right, tenths: 50)
        #expect(trial.told.map(\.at) == [25, 65])
        #expect(
            trial.told.map(\.event) == [
                .began(since: 500_000_000), .ended(after: .seconds(5)),
            ])
        #expect(trial.alarm.status == AlarmStatus(isActive: false, seconds: 0, count: 1))
    }

    @Test("A fault that is too short raises no alarm, and each fault is timed from its own beginning")
    func short() {
        var trial = Trial()
        for _ in 0..<10 {
            trial.note(.faulty, tenths: 19)
            trial.note(.right, tenths: 1)
        }
        #expect(trial.told.isEmpty && trial.alarm.status.count == 0)
    }

    @Test("A noise of 0.2 s does not end an alarm for silence")
    func click() {
        var trial = Trial()
        trial.note(.faulty, tenths: 30)
        trial.note(.right, tenths: 2)
        trial.note(.faulty, tenths: 30)
        #expect(trial.told.count == 1)
        trial.note(.right, tenths: 10)
        #expect(trial.told.count == 2 && trial.told.last?.event == .ended(after: .milliseconds(6200)))
    }

    @Test("A level between the two thresholds neither begins a fault nor ends it")
    func between() {
        var trial = Trial()
        trial.note(.between, tenths: 50)
        #expect(trial.told.isEmpty)
        trial.note(.faulty, tenths: 20)
        trial.note(.between, tenths: 50)
        #expect(trial.told.count == 1 && trial.alarm.status.isActive)
        trial.note(.right, tenths: 10)
        #expect(trial.told.count == 2)
    }
}
