// Package startup lets a server wait for what it needs, instead of ending when that
// isn't there: it answers probes meanwhile on the server's own port, and says in
// its log and at /readyz what it waits for.
//
//	port := startup.NewPort(listener)
//	gate := startup.NewGate(clock)
//	turn, err := port.Turn()
//	go serve(turn, gate.Handler(codecs))
//	err = gate.Wait(ctx, startup.Need{Name: "etcd", Check: ping})
//	// end that server, and serve on port.Last()
package startup
