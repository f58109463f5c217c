// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Channel

@Suite("Directories of outputs that are requested over the API")
struct OutputPlacesTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        for name in ["www/live/part", "other", "www/live-too"] {
            try FileManager.default.createDirectory(atPath: temporary.path(name), withIntermediateDirectories: true)
        }
        for (name, target) in [("www/live/out", "../../other"), ("www/alias", "live"), ("other/in", "../www/live")] {
            try #require(symlink(target, temporary.path(name)) == 0)
        }
    }

    /// The sentence with which an output to `path` is refused; nil if it is accepted.
    private func refusal(_ path: String, option: String = "") throws -> String? {
        let output = try OutputSpecification("hls:\(temporary.path(path))\(option)")
        do throws(OutputSpecificationError) {
            try OutputPlaces([temporary.path("www/live")]).check(output)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(
        "An output of the API may write to a configured directory and to directories in it, by any path",
        arguments: [
            "www/live", "www/live/", "www/live/new", "www/live/part", "www/live/part/new", "www/alias/new",
            "other/in", "other/in/new", "www/live/part/../new",
        ])
    func inside(path: String) throws { #expect(try refusal(path) == nil) }

    @Test(
        "An output of the API is refused in any other directory, even a similarly named one, and creates nothing",
        arguments: [
            "www", "www/new", "www/live-too", "www/live/../new", "www/live/out", "www/live/out/new", "other/new",
            "www/live/..", "www/live/missing/new", "www/live/new/..",
        ])
    func outside(path: String) throws {
        #expect(try refusal(path)?.contains("name \(temporary.path("www/live")), or one in it") == true)
        #expect(!FileManager.default.fileExists(atPath: temporary.path("www/new")))
    }

    @Test("The API checks a backup's directory like the output's own, and does not check outputs to the network")
    func kinds() throws {
        let backup = ",backup=hls:\(temporary.path("other/new"))"
        #expect(try refusal("www/live", option: "#name=a" + backup)?.contains("other/new is not in") == true)
        let none = OutputPlaces([])
        try none.check(try OutputSpecification("rtmp://host/live/key"))
        let refused = #expect(throws: OutputSpecificationError.self) {
            try none.check(try OutputSpecification("hls:/tmp"))
        }
        #expect(refused?.description.contains("no output to a directory") == true)
    }
}
