// SPDX-License-Identifier: Apache-2.0

import Fleet
import Foundation
import Testing

@Suite("Requests to etcd")
struct EtcdRequestTests {
    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    @Test(
        arguments: [
            ("a", Array("b".utf8)), ("/relay/", Array("/relay0".utf8)), ("ä", [0xC3, 0xA5]), ("\u{7F}", [0x80]),
        ] as [(String, [UInt8])])
    func `The range of a prefix ends before the next key that does not begin with it`(prefix: String, end: [UInt8]) {
        let key = Self.base64(Array(prefix.utf8))
        #expect(
            EtcdRequest.range(prefix: prefix, since: 0).body == #"{"key":"\#(key)","range_end":"\#(Self.base64(end))"}"#
        )
    }

    @Test func `A request for an empty prefix covers all keys in etcd`() {
        #expect(EtcdRequest.range(prefix: "", since: 0).body == #"{"key":"AA==","range_end":"AA=="}"#)
        #expect(
            EtcdRequest.watch(prefix: "", since: 7).body
                == #"{"create_request":{"key":"AA==","range_end":"AA==","start_revision":"7"}}"#)
    }

    @Test func `A transaction names its conditions, and what is done in both cases, in their order`() throws {
        let request = EtcdRequest.transaction(
            [.exists(key: "a"), .created(key: "b", revision: .max)],
            then: [.put(key: "a", value: #"{"x":"ä/"}"#, lease: .max), .delete(key: "b")], otherwise: [.read(key: "c")])
        let (a, b, c) = (Self.base64([97]), Self.base64([98]), Self.base64([99]))
        let value = Self.base64(Array(#"{"x":"ä/"}"#.utf8))
        #expect(request.path == "/v3/kv/txn")
        #expect(
            request.body
                == #"{"compare":[{"create_revision":"0","key":"\#(a)","result":"GREATER","target":"CREATE"},"#
                + #"{"create_revision":"9223372036854775807","key":"\#(b)","result":"EQUAL","target":"CREATE"}],"#
                + #""failure":[{"request_range":{"key":"\#(c)"}}],"#
                + #""success":[{"request_put":{"key":"\#(a)","lease":"9223372036854775807","value":"\#(value)"}},"#
                + #"{"request_delete_range":{"key":"\#(b)"}}]}"#)
    }

    @Test func `Each kind of request has its path`() {
        let paths: [(EtcdRequest, String)] = [
            (.grant(seconds: 5), "/v3/lease/grant"), (.keepAlive(lease: 1), "/v3/lease/keepalive"),
            (.revoke(lease: 1), "/v3/lease/revoke"), (.range(prefix: "a", since: 0), "/v3/kv/range"),
            (.watch(prefix: "a", since: 0), "/v3/watch"),
        ]
        for (request, path) in paths { #expect(request.path == path) }
    }
}
