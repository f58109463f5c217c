// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import Control
@testable import Studio

@Suite("Requests that accept only known keys")
struct ClosedRequestTests {
    private func refusal(_ text: String) -> String? {
        do {
            _ = try JSON.decode(ProgramRequest.self, from: Data(text.utf8))
            return nil
        } catch {
            return (error as? Refusal)?.detail ?? "another error"
        }
    }

    @Test("A request with a misspelt key is refused with that key and the list of known keys")
    func misspelt() {
        #expect(
            refusal(#"{"scene":"cam2","transistion":{"type":"fade"}}"#)
                == "There is no key transistion. There are scene, transition, at.")
    }

    @Test("A request with an unknown key in a nested object, or with a key in the wrong object, is refused")
    func inside() {
        #expect(
            refusal(#"{"scene":{"layout":"pip","sources":["a","b"],"inset":{"x":0,"y":0,"widht":0.5}}}"#)
                == "There is no key scene.inset.widht. There are corner, x, y, width.")
        #expect(refusal(#"{"transition":{"tpye":"fade"}}"#)?.hasPrefix("There is no key transition.tpye. ") == true)
        #expect(refusal(#"{"layout":"single","sources":["a"]}"#)?.hasPrefix("There is no key ") == true)
    }

    @Test(
        "A request in which every key is known is accepted",
        arguments: [
            #"{"scene":"cam2"}"#, #"{"transition":{"type":"fade","seconds":1,"easing":"in-out"},"at":5}"#,
            #"{"scene":{"layout":"pip","sources":["a","b"],"inset":{"x":0,"y":0,"width":0.5},"overlays":["x"]}}"#,
            #"{"scene":{"layout":"pip","sources":["a","b"],"inset":{"corner":"top-left","width":0.3}}}"#,
            #"{"scene":{"layout":"split-vertical","sources":["a","b"],"fit":"contain"}}"#,
            #"{"transition":{"type":"stinger","name":"wipe"}}"#,
        ])
    func known(_ text: String) {
        #expect(refusal(text) == nil)
    }

    @Test(
        "A request with an unknown enumeration value is refused with that value and the list of known values",
        arguments: [
            (
                #"{"scene":{"layout":"pop","sources":["a"]}}"#,
                "There is no layout pop. There are single, pip, split-horizontal, split-vertical, grid, slate."
            ),
            (
                #"{"scene":{"layout":"split-vertical","sources":["a","b"],"fit":"fill"}}"#,
                "There is no fit fill. There are crop, contain."
            ),
            (
                #"{"scene":{"layout":"pip","sources":["a","b"],"inset":{"corner":"top"}}}"#,
                "There is no corner top. There are top-left, top-right, bottom-left, bottom-right."
            ),
            (
                #"{"transition":{"type":"fade","easing":"in"}}"#,
                "There is no easing in. There are linear, in-out, out."
            ),
        ])
    func words(_ text: String, _ sentence: String) {
        #expect(refusal(text) == sentence)
        let type = refusal(#"{"transition":{"type":"fadee"}}"#)
        #expect(
            type?.hasPrefix("There is no type of transition fadee. There are ") == true
                && type?.contains(" fade,") == true)
    }

    @Test("A request body that is malformed JSON, or not an object, is refused with that reason")
    func malformed() {
        #expect(refusal("{") == "The body is no JSON.")
        #expect(refusal("[1]") == "The body is not an object with the keys that belong here.")
    }

    @Test("The path of a key of an object in a list begins with the list's key")
    func lists() throws {
        let text = #"{"clips":[{"id":"a"},{"skipEnd":2,"transition":{"type":"cut"}}],"hold":null}"#
        let paths = try JSONDecoder().decode(KeyPaths.self, from: Data(text.utf8)).paths
        #expect(
            Set(paths) == ["clips", "clips.id", "clips.skipEnd", "clips.transition", "clips.transition.type", "hold"])
    }

    // Regression: the path of a key was a text with dots between its components. A key that contains a dot was
    // therefore taken for a known nested key and then ignored, so the request did something else than it said.
    @Test(
        "A key that contains a dot is unknown, even if it looks like the path of a nested key",
        arguments: [
            #"{"scene.layout":"single"}"#, #"{"scene":"cam2","transition.type":"fade"}"#,
            #"{"transition":{"type":"fade"},"transition.seconds":1}"#, #"{"scene.inset.x":0}"#,
        ])
    func points(_ text: String) {
        #expect(refusal(text)?.hasPrefix("There is no key ") == true, "\(refusal(text) ?? "taken")")
        #expect(refusal(text)?.hasSuffix("There are scene, transition, at.") == true)
    }

    @Test("The known keys of a request about a source are exactly the properties of the request's type")
    func properties() {
        #expect(Set(Mirror(reflecting: SourceRequest()).children.compactMap(\.label)) == Set(SourceRequest.keys))
    }
}
