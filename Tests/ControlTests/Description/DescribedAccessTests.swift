// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import Control

/// Requests that are derived from the API's description: each operation is requested by each kind of client, from each
/// origin and under each host name.
@Suite("Access to each operation of the API's description")
struct DescribedAccessTests {
    /// Each origin of a request to the server's own name, and requests to other names.
    private static let places: [(TrialOrigin, TrialHost)] = [
        (.none, .own), (.own, .own), (.foreign, .own), (.null, .own), (.otherSite, .own), (.none, .foreign),
        (.foreign, .foreign), (.none, .missing),
    ]

    private let api: DescribedAPI

    init() throws { api = try DescribedAPI() }

    /// Returns the status with which a server with tokens refuses a request before the operation runs; nil if it admits
    /// the request.
    private func refusal(
        of client: TrialClient, _ origin: TrialOrigin, _ host: TrialHost, _ operation: DescribedAPI.Operation
    ) -> Int? {
        switch host {
        case .missing: return 400
        case .foreign: return 403
        case .own: break
        }
        if operation.changesSomething, origin.isForeign { return 403 }
        if operation.role == .none { return nil }
        if client.role == .none { return 401 }
        return client.role < operation.role ? 403 : nil
    }

    /// Whether the status means that the client is not allowed to do this.
    private func isDenial(_ status: Int) -> Bool { [401, 403, 429].contains(status) }

    @Test("For each operation the API's description names the role that the server requires")
    func roles() throws {
        let endpoints = DescribedTrial().endpoints
        #expect(api.operations.count > 60)
        for operation in api.operations {
            let endpoint = endpoints.first { $0.method == operation.method && $0.path == operation.path }
            #expect(endpoint?.role == operation.role, "\(operation)")
        }
    }

    @Test("An operation admits or refuses clients, origins and host names by the operation's role, and shows no secret")
    func access() async throws {
        let trial = DescribedTrial()
        for operation in api.operations {
            for client in TrialClient.allCases {
                for (origin, host) in Self.places {
                    let answer = try await trial.ask(
                        operation.method, operation.samplePath, by: client, from: origin, to: host)
                    let name = "\(operation), \(client), \(origin), \(host): \(answer.status)"
                    #expect(answer.faults == [], "\(name)")
                    if operation.method != .head { #expect(answer.problemFaults == [], "\(name)") }
                    if let expected = refusal(of: client, origin, host, operation) {
                        #expect(answer.status == expected, "\(name)")
                    } else {
                        #expect(!isDenial(answer.status), "\(name)")
                        #expect(answer.undescribed(by: operation) == [], "\(name)")
                    }
                }
            }
        }
        #expect(trial.log.lines == [])
    }

    @Test("A server without tokens refuses only requests with a foreign host name, and changes sent by a foreign page")
    func withoutTokens() async throws {
        let trial = DescribedTrial(hasTokens: false)
        for operation in api.operations {
            for client in [.nothing, .wrongToken, .wrongSession] as [TrialClient] {
                for origin in TrialOrigin.allCases {
                    let answer = try await trial.ask(operation.method, operation.samplePath, by: client, from: origin)
                    let name = "\(operation), \(client), \(origin): \(answer.status)"
                    #expect(answer.faults == [], "\(name)")
                    if operation.changesSomething, origin.isForeign {
                        #expect(answer.status == 403, "\(name)")
                    } else {
                        #expect(!isDenial(answer.status), "\(name)")
                    }
                }
                let foreign = try await trial.ask(operation.method, operation.samplePath, by: client, to: .foreign)
                #expect(foreign.status == 403, "\(operation), \(client)")
            }
        }
        #expect(trial.log.lines == [])
    }

    @Test(
        "The web page's files are served to every client, but not under a foreign name, and allow only own scripts"
    )
    func page() async throws {
        let trial = DescribedTrial()
        #expect(BuiltInFile.all.count > 10)
        for file in BuiltInFile.all {
            for client in TrialClient.allCases {
                let answer = try await trial.ask(.get, "/" + file.path, by: client)
                #expect(answer.status == 200 && answer.faults == [], "\(file.path), \(client)")
                #expect(answer.header("Content-Type") == file.type && answer.body.count == file.content.readableBytes)
                let policy = answer.header("Content-Security-Policy") ?? ""
                #expect(policy.contains("script-src 'self';") && !policy.contains("unsafe"), "\(file.path)")
            }
            let head = try await trial.ask(.head, "/" + file.path, by: .nothing)
            #expect(head.status == 200 && head.body.isEmpty, "\(file.path)")
            let post = try await trial.ask(.post, "/" + file.path)
            #expect(post.status == 405 && post.header("Allow") == "GET, HEAD", "\(file.path)")
            let foreign = try await trial.ask(.get, "/" + file.path, to: .foreign)
            #expect(foreign.status == 403 && foreign.faults == [], "\(file.path)")
        }
    }
}
