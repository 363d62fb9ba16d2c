// Package harness runs a real control plane for tests: etcd, kube-apiserver and
// kube-controller-manager (bin/, built from test/controlplane), the reference PDS
// behind a proxy that can cut it, replicas of bin/infra-apiserver behind a Service,
// registered by an APIService, and bin/infra-controller where it is asked for. Everything is on loopback, in processes of
// its own, and ends with the test binary, however that ends.
//
// # A case
//
// A package of cases has one plane, which TestMain starts:
//
//	//go:build e2e
//
//	package e2e
//
//	var plane *harness.Plane
//
//	func TestMain(m *testing.M) { harness.Main(m, &plane, harness.Options{}) }
//
//	func TestPatch(t *testing.T) {
//		t.Parallel()
//		name := plane.Infra(t) // a new one, with a name of its own; it goes with the test
//		k := plane.Kubectl(t)  // the real kubectl, as an admin
//		k.Run(t, "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"new"}}`)
//	}
//
// Cases share the plane. So a case
//
//   - calls t.Parallel unless it stops or counts what others use. A case without it
//     runs while no other does;
//   - uses names of its own (Name) and looks at nothing else;
//   - waits by watches or Eventually, never for a time.
//
// A case that needs other flags of kube-apiserver, or that breaks more than it
// mends, belongs to a package of its own below test/e2e, with its own plane. A plane
// takes some 10 s to start and half a gigabyte, so there should be few.
//
// # What there is
//
//   - Who asks: Config, Kubectl (admin), ConfigFor, KubectlAs (any user and groups, by
//     client certificate), Anonymous; Clients are typed clients of any config.
//   - Where: through the aggregator, or straight at a Replica (Replica.Direct).
//   - The PDS: PDS (URL, accounts), Proxy (faults), Repo (a client past both), Account
//     (a plain XRPC client past both), NewRepo (an AtprotoRepo of an account).
//   - Contracts: Options.Controllers, Fulfiller.
//   - Waiting: Eventually asks again and again; Await watches one object.
//   - Breaking things: Replica.Stop, Kill, Start; Controller.Kill, Start; Balancer;
//     Lane; Plane.APIServer and the other processes.
//   - Logs: Log of each process, and where it stood (Mark); service.log tells when and
//     why a replica was not ready.
package harness
