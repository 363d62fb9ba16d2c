package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The checks of flags against the machine: what would fail, or not work, later is
// told before anything starts, by the flag, its value and what to do.

// flagValue is a flag and what it was set to.
type flagValue struct{ flag, value string }

// check tells what is wrong with the generic options that their own validation
// doesn't look at.
func (o *Options) check() []error {
	r := o.Recommended
	var errs []error
	var files []flagValue
	if r.CoreAPI != nil {
		files = append(files, flagValue{"--kubeconfig", r.CoreAPI.CoreAPIKubeconfigPath})
	}
	if a := r.Authentication; a != nil {
		files = append(files, flagValue{"--authentication-kubeconfig", a.RemoteKubeConfigFile},
			flagValue{"--client-ca-file", a.ClientCert.ClientCA}, flagValue{"--requestheader-client-ca-file", a.RequestHeader.ClientCAFile})
	}
	if a := r.Authorization; a != nil {
		files = append(files, flagValue{"--authorization-kubeconfig", a.RemoteKubeConfigFile})
	}
	if s := r.SecureServing; s != nil {
		cert, key := s.ServerCert.CertKey.CertFile, s.ServerCert.CertKey.KeyFile
		files = append(files, flagValue{"--tls-cert-file", cert}, flagValue{"--tls-private-key-file", key})
		errs = append(errs, together(flagValue{"--tls-cert-file", cert}, flagValue{"--tls-private-key-file", key})...)
	}
	if e := r.Etcd; e != nil {
		c := e.StorageConfig.Transport
		files = append(files, flagValue{"--etcd-cafile", c.TrustedCAFile}, flagValue{"--etcd-certfile", c.CertFile},
			flagValue{"--etcd-keyfile", c.KeyFile}, flagValue{"--encryption-provider-config", e.EncryptionProviderConfigFilepath})
		errs = append(errs, together(flagValue{"--etcd-certfile", c.CertFile}, flagValue{"--etcd-keyfile", c.KeyFile})...)
		errs = append(errs, checkEtcdServers(c.ServerList)...)
		errs = append(errs, checkPrefix("--etcd-prefix", e.StorageConfig.Prefix)...)
	}
	if a := r.Audit; a != nil {
		files = append(files, flagValue{"--audit-policy-file", a.PolicyFile})
	}
	errs = append(errs, checkFiles(files)...)
	return append(errs, o.checkHostCluster()...)
}

// checkHostCluster wants a host cluster where authentication or authorization ask
// one.
func (o *Options) checkHostCluster() []error {
	r := o.Recommended
	asks := r.Authentication != nil && r.Authentication.RemoteKubeConfigFile == "" && !r.Authentication.RemoteKubeConfigFileOptional ||
		r.Authorization != nil && r.Authorization.RemoteKubeConfigFile == "" && !r.Authorization.RemoteKubeConfigFileOptional
	if !asks || os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	return []error{errors.New("--kubeconfig is empty, and this is not a pod: name the kubeconfig of the host cluster, which authenticates and authorizes requests (or run everything here, with the command dev)")}
}

// checkPort tells that the port that serve is to listen on can't be had.
func (o *Options) checkPort() error {
	s := o.Recommended.SecureServing
	if s == nil || s.Listener != nil || s.BindPort <= 0 || s.PermitPortSharing || s.PermitAddressSharing {
		return nil
	}
	address := net.JoinHostPort(s.BindAddress.String(), strconv.Itoa(s.BindPort))
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", address)
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--secure-port %d: %s is taken: end what uses it, or choose another port", s.BindPort, address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("--secure-port %d: this user may not listen on it: choose a port from 1024 on", s.BindPort)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--bind-address %s: is no address of this machine: choose one that is, or 0.0.0.0 for all", s.BindAddress)
	default:
		return fmt.Errorf("--secure-port %d: %w", s.BindPort, err)
	}
}

// checkFiles wants every file that is named to be one that can be read. A file that
// several flags name is told once.
func checkFiles(files []flagValue) []error {
	var errs []error
	told := map[string]bool{}
	for _, f := range files {
		if f.value == "" || told[f.value] {
			continue
		}
		if err := readable(f.value); err != nil {
			told[f.value] = true
			errs = append(errs, fmt.Errorf("%s %q: %w: name a file that can be read", f.flag, f.value, err))
		}
	}
	return errs
}

// readable tells why a file can't be read, without its name.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if st, err := f.Stat(); err != nil {
		return cause(err)
	} else if st.IsDir() {
		return errors.New("is a directory")
	}
	return nil
}

// cause is an error without the name of the file.
func cause(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// together wants both flags or none.
func together(a, b flagValue) []error {
	if (a.value == "") == (b.value == "") {
		return nil
	}
	if a.value == "" {
		a, b = b, a
	}
	return []error{fmt.Errorf("%s %q: needs %s beside it: give both, or neither", a.flag, a.value, b.flag)}
}

func checkEtcdServers(servers []string) []error {
	var errs []error
	for _, s := range servers {
		if u, err := url.Parse(s); err != nil || !slices.Contains([]string{"http", "https", "unix", "unixs"}, u.Scheme) || u.Host+u.Path == "" {
			errs = append(errs, fmt.Errorf("--etcd-servers %q: not the URL of an etcd: write it like https://etcd.example.com:2379", withoutPassword(s)))
		}
	}
	return errs
}

// checkPrefix wants a prefix of etcd keys that no other's is a part of.
func checkPrefix(flag, prefix string) []error {
	if strings.HasPrefix(prefix, "/") && len(prefix) > 1 && !strings.HasSuffix(prefix, "/") {
		return nil
	}
	return []error{fmt.Errorf("%s %q: must begin with '/', name something and not end with '/': write it like %s", flag, prefix, EtcdPrefix)}
}

// checkURL wants a base URL, where there is one, with one of the schemes.
func checkURL(f flagValue, schemes ...string) []error {
	if f.value == "" {
		return nil
	}
	u, err := url.Parse(f.value)
	switch {
	case err != nil, !slices.Contains(schemes, u.Scheme), u.Hostname() == "":
		return []error{fmt.Errorf("%s %q: not a URL with the scheme %s and a host: write it like %s://host.example.com",
			f.flag, withoutPassword(f.value), strings.Join(schemes, " or "), schemes[0])}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return []error{fmt.Errorf("%s %q: must be scheme and host alone: write it like %s://%s", f.flag, u.Redacted(), schemes[0], u.Hostname())}
	}
	return nil
}

// withoutPassword is a value that is no URL in a form that can be told.
func withoutPassword(value string) string {
	if at := strings.LastIndex(value, "@"); at >= 0 {
		return "…" + value[at:]
	}
	return value
}
