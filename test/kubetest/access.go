package kubetest

import (
	"context"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Allowed asks the authorizers whether a service account may do something.
func (c *Cluster) Allowed(ctx context.Context, account types.NamespacedName, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		Groups: []string{
			"system:serviceaccounts",
			"system:serviceaccounts:" + account.Namespace,
			"system:authenticated",
		},
		ResourceAttributes: &what,
	}}
	answer, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// AwaitAllowed returns when a service account may do something: the RBAC
// authorizer hears of a new role only some milliseconds after it is applied.
func (c *Cluster) AwaitAllowed(t testing.TB, account types.NamespacedName, what authorizationv1.ResourceAttributes) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		return c.Allowed(ctx, account, what)
	})
	if err != nil {
		t.Fatalf("service account %s may not %s %s: %v", account, what.Verb, what.Resource, err)
	}
}

// AwaitForbidden returns when the API server forbids what is tried: an admission
// policy is in force only some tenths of a second after it is applied.
func AwaitForbidden(t testing.TB, what string, try func(context.Context) error) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsForbidden(try(ctx)), nil
	})
	if err != nil {
		t.Fatalf("%s is not forbidden: %v", what, err)
	}
}
