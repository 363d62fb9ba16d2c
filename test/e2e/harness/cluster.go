package harness

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

// controllers are those that meet our kinds, and those that RBAC and admission need.
const controllers = "garbage-collector-controller,namespace-controller,resourcequota-controller," +
	"clusterrole-aggregation-controller,validatingadmissionpolicy-status-controller,serviceaccount-controller"

// startEtcd starts the etcd that kube-apiserver and our replicas share. Nobody
// expects it to survive a power failure.
func (p *Plane) startEtcd(ctx context.Context) error {
	client := "http://" + p.net.addr(etcdHost, etcdPort)
	peer := "http://" + p.net.addr(etcdHost, etcdPeerPort)
	var err error
	p.Etcd, err = p.start("etcd", "etcd",
		"--name=e2e", "--data-dir="+p.file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--watch-progress-notify-interval=5s", // bookmarks of a quiet kind need it
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e2e="+peer)
	if err != nil {
		return err
	}
	return p.Etcd.await(ctx, func(ctx context.Context) error {
		return getOK(ctx, http.DefaultClient, client+"/readyz")
	})
}

// startAPIServer starts kube-apiserver, with its own identity for calls to
// aggregated servers.
func (p *Plane) startAPIServer(ctx context.Context) error {
	var err error
	p.APIServer, err = p.start("kube-apiserver", "kube-apiserver", append([]string{
		"--etcd-servers=http://" + p.net.addr(etcdHost, etcdPort),
		"--bind-address=" + p.net.host(apiServerHost), fmt.Sprintf("--secure-port=%d", apiServerPort),
		"--advertise-address=" + p.net.host(apiServerHost), "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.pem("apiserver.crt"), "--tls-private-key-file=" + p.pem("apiserver.key"),
		"--client-ca-file=" + p.pem("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.pem("sa.pub"), "--service-account-signing-key-file=" + p.pem("sa.key"),
		"--service-cluster-ip-range=" + p.net.cidr(),
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
		"--requestheader-client-ca-file=" + p.pem("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-uid-headers=X-Remote-Uid", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.pem("front-proxy.crt"), "--proxy-client-key-file=" + p.pem("front-proxy.key"),
		"--profiling=false",
	}, p.expand(p.options.APIServerFlags)...)...)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(p.Config())
	if err != nil {
		return err
	}
	return p.APIServer.await(ctx, func(ctx context.Context) error {
		return getOK(ctx, client, p.URL()+"/readyz")
	})
}

// startControllerManager starts it once our kinds are in discovery: it looks for new
// ones every 30 s alone.
func (p *Plane) startControllerManager(ctx context.Context) error {
	kubeconfig := p.file("kcm.kubeconfig")
	var err error
	p.ControllerManager, err = p.start("kube-controller-manager", "kube-controller-manager", append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + p.net.host(controllerManagerHost), fmt.Sprintf("--secure-port=%d", controllerManagerPort),
		"--tls-cert-file=" + p.pem("kcm-serving.crt"), "--tls-private-key-file=" + p.pem("kcm-serving.key"),
		"--leader-elect=false", "--use-service-account-credentials=true", "--service-account-private-key-file=" + p.pem("sa.key"),
		"--root-ca-file=" + p.pem("ca.crt"), "--controllers=" + controllers,
	}, p.expand(p.options.ControllerManagerFlags)...)...)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: p.pki.cluster.PEM}})
	if err != nil {
		return err
	}
	return p.ControllerManager.await(ctx, func(ctx context.Context) error {
		return getOK(ctx, client, "https://"+p.net.addr(controllerManagerHost, controllerManagerPort)+"/healthz")
	})
}

func (p *Plane) expand(flags []string) []string {
	out := make([]string, len(flags))
	for i, f := range flags {
		out[i] = strings.ReplaceAll(f, "{dir}", p.dir)
	}
	return out
}

// getOK is a GET that must be answered with 200.
func getOK(ctx context.Context, client *http.Client, url string) error {
	_, err := testhttp.GetOK(ctx, client, url)
	return err
}
