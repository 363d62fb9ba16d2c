package dev

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

const (
	// workspace and repoName of the AtprotoRepo that dev makes.
	workspace = repostore.DefaultWorkspace
	repoName  = "default"
	// settleTimeout is how long a start waits for the AtprotoRepo: a PDS that
	// doesn't answer must not keep the server from starting.
	settleTimeout = 10 * time.Second
)

// conflicts are retried for some seconds: the server writes the AtprotoRepo's status
// meanwhile.
var conflicts = wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.2}

// seed makes the AtprotoRepo that binds everything to the account of the PDS, or
// tells an existing one where the PDS is now. Whatever else a user changed in it
// stays.
func seed(ctx context.Context, c *rest.Config, p *pds) error {
	client, err := versioned.NewForConfig(c)
	if err != nil {
		return err
	}
	repos := client.SocialwebV1alpha1().AtprotoRepos()
	_, err = repos.Create(ctx, &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: repoName},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: p.DID, PDS: p.URL, Default: true,
			CredentialsRef: &v1alpha1.CredentialsReference{Name: repoName},
		},
	}, metav1.CreateOptions{FieldManager: "dev"})
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(conflicts, func() error {
		r, err := repos.Get(ctx, repoName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if r.Spec.DID != p.DID {
			return fmt.Errorf("AtprotoRepo %s is of account %s, not %s: the data directory belongs to another account", repoName, r.Spec.DID, p.DID)
		}
		if r.Spec.PDS == p.URL {
			return nil
		}
		r.Spec.PDS = p.URL
		_, err = repos.Update(ctx, r, metav1.UpdateOptions{FieldManager: "dev"})
		return err
	})
}

// settled waits until the AtprotoRepo is ready and its objects can be read, and says how it stands when it
// isn't in time.
func settled(ctx context.Context, c *rest.Config) (string, error) {
	client, err := versioned.NewForConfig(c)
	if err != nil {
		return "", err
	}
	infras := client.SocialwebV1alpha1().RESTClient()
	var last string
	waitCtx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err = wait.PollUntilContextCancel(waitCtx, readyPoll, true, func(ctx context.Context) (bool, error) {
		r, err := client.SocialwebV1alpha1().AtprotoRepos().Get(ctx, repoName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != r.Generation {
			return false, nil
		}
		last = ready.Reason
		if ready.Status != metav1.ConditionTrue {
			return false, nil
		}
		// The status may be of an earlier start. A consistent read tells how it is.
		last = "NotReachable"
		err = infras.Get().Resource("infras").Param("limit", "1").MaxRetries(0).Do(ctx).Error()
		if apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case err == nil:
		return "is ready", nil
	case ctx.Err() == nil && wait.Interrupted(err):
		return fmt.Sprintf("is not ready yet (%s): kubectl describe atprotorepo %s", last, repoName), nil
	default:
		return "", err
	}
}
