package harness

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
)

// network is a /24 of loopback that only this plane uses, so that its ports can be
// fixed: nobody else listens there, nor does the kernel take them for outgoing
// connections. It is also the range of the cluster's Services.
type network struct{ a, b byte }

// Hosts of the network, and the ports on them.
const (
	etcdHost, etcdPort, etcdPeerPort             = 2, 2379, 2380
	apiServerHost, apiServerPort                 = 3, 6443
	controllerLaneHost                           = 5
	controllerManagerHost, controllerManagerPort = 4, 10257
	serviceHost, servicePort                     = 10, 8443
	replicaHost, replicaPort                     = 20, 8443
)

// newNetwork picks one that nobody has claimed, and claims it, by a UDP port, until the
// claim is closed.
func newNetwork() (network, io.Closer, error) {
	for range 100 {
		n := network{byte(64 + rand.IntN(63)), byte(rand.IntN(256))}
		address := n.addr(apiServerHost, apiServerPort)
		claim, err := net.ListenPacket("udp4", address)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp4", address)
		if err != nil { // a server of another kind
			_ = claim.Close()
			continue
		}
		return n, claim, l.Close()
	}
	return network{}, nil, errors.New("no loopback network is free")
}

func (n network) cidr() string { return fmt.Sprintf("127.%d.%d.0/24", n.a, n.b) }

func (n network) host(h int) string { return fmt.Sprintf("127.%d.%d.%d", n.a, n.b, h) }

func (n network) addr(h, port int) string { return net.JoinHostPort(n.host(h), strconv.Itoa(port)) }
