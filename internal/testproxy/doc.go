// Package testproxy stands between a client and a PDS and does what networks and
// PDSes do to them: connections that are refused, answers that are late, cut
// short, forged or never come, limits, sessions that are revoked, event streams
// that break or fall silent. What is wrong can change while it runs:
//
//	p, err := testproxy.New(pds.URL)
//	defer p.Close()
//	p.Set(testproxy.Fault{Kind: testproxy.Status500}, "com.atproto.repo.putRecord")
//	…
//	p.Clear()
//
// It is for tests alone.
package testproxy
