package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const secretWord = "hunter2-hunter2"

// Both providers follow the same rules.
func TestProviders(t *testing.T) {
	entries := map[string]map[string]string{
		"w1/alice":   {IdentifierKey: "alice.test\n", PasswordKey: secretWord + "\n"},
		"w2/bob":     {IdentifierKey: "bob.test", PasswordKey: secretWord},
		"w1/nopass":  {IdentifierKey: "x.test"},
		"w1/empty":   {IdentifierKey: "  \n", PasswordKey: secretWord},
		"w1/a.b":     {IdentifierKey: "ab.test", PasswordKey: secretWord},
		"w1/no-user": {PasswordKey: secretWord},
		"w1/pinned":  {IdentifierKey: "x.test", PasswordKey: secretWord, PDSKey: "HTTPS://PDS.example/\n"},
		"w1/bad-pds": {IdentifierKey: "x.test", PasswordKey: secretWord, PDSKey: "pds.example"},
	}
	for name, p := range map[string]Provider{"directory": directory(t, entries), "secrets": secrets(entries)} {
		t.Run(name, func(t *testing.T) {
			c, err := p.Get(t.Context(), "w1", "alice")
			if err != nil || c.Identifier != "alice.test" || c.Password != secretWord || c.PDS != "" {
				t.Errorf("identifier %q, password right: %t, error %v", c.Identifier, c.Password == secretWord, err)
			}
			if s := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(s, secretWord) {
				t.Error("they print with the password")
			}
			if c, err := p.Get(t.Context(), "w1", "pinned"); err != nil || c.PDS != "https://pds.example" {
				t.Errorf("with a PDS: %q, %v", c.PDS, err)
			}
			if c, err := p.Get(t.Context(), "w1", "a.b"); err != nil || c.Identifier != "ab.test" {
				t.Errorf("a name with a dot: %q, %v", c.Identifier, err)
			}
			for _, id := range [][2]string{{"w1", "bob"}, {"w2", "alice"}, {"w3", "alice"}, {"w1", "nobody"}} {
				if _, err := p.Get(t.Context(), id[0], id[1]); !errors.Is(err, ErrNotFound) {
					t.Errorf("%v: %v, want ErrNotFound", id, err)
				}
			}
			// None of these may reach another workspace's credentials.
			for _, id := range [][2]string{{"w1", "../w2/bob"}, {"w1/../w2", "bob"}, {"..", "w2"}, {"", "alice"}, {"w1", ""}, {"w1.alice", "x"}} {
				if _, err := p.Get(t.Context(), id[0], id[1]); err == nil {
					t.Errorf("%v was accepted", id)
				}
			}
			for _, n := range []string{"nopass", "empty", "no-user", "bad-pds"} {
				_, err := p.Get(t.Context(), "w1", n)
				if err == nil {
					t.Errorf("%s was accepted", n)
				} else if strings.Contains(err.Error(), secretWord) {
					t.Errorf("%s: the error holds the password", n)
				}
			}
		})
	}
	if _, err := (None{}).Get(t.Context(), "w1", "alice"); !errors.Is(err, ErrNotFound) {
		t.Errorf("None: %v", err)
	}
}

// What the API of the host cluster refuses is not an answer to a client of ours.
func TestSecretsUnavailable(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "w1.alice", errors.New("RBAC"))
	})
	_, err := NewSecrets(client.CoreV1().Secrets("ns")).Get(t.Context(), "w1", "alice")
	var status apierrors.APIStatus
	if !errors.Is(err, ErrUnavailable) || errors.As(err, &status) || !strings.Contains(err.Error(), "RBAC") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, ctx.Err() })
	if _, err := NewSecrets(client.CoreV1().Secrets("ns")).Get(ctx, "w1", "alice"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}

func directory(t *testing.T, entries map[string]map[string]string) Provider {
	root := t.TempDir()
	for id, files := range entries {
		dir := filepath.Join(root, filepath.FromSlash(id))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for f, content := range files {
			if err := os.WriteFile(filepath.Join(dir, f), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return NewDirectory(root)
}

func secrets(entries map[string]map[string]string) Provider {
	client := fake.NewClientset()
	for id, files := range entries {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: strings.Replace(id, "/", ".", 1)},
			Data:       map[string][]byte{},
		}
		for k, v := range files {
			s.Data[k] = []byte(v)
		}
		if err := client.Tracker().Add(s); err != nil {
			panic(fmt.Sprintf("adding %s: %v", id, err))
		}
	}
	return NewSecrets(client.CoreV1().Secrets("ns"))
}
