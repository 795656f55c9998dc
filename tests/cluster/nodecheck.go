package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	checkNamespace = "kube-system"
	checkPatience  = 3 * time.Minute
)

// checkNode runs one pod to its end: a kubelet that says it is ready may still fail every sandbox.
func (s *supervisor) checkNode(ctx context.Context) error {
	begin := time.Now()
	progress("checking that a pod runs")
	pods := s.client.CoreV1().Pods(checkNamespace)
	pod, err := pods.Create(ctx, checkPod(s.state.Images["probe"]), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for time.Since(begin) < checkPatience {
		pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		switch pod.Status.Phase {
		case corev1.PodSucceeded:
			progress("a pod ran after %s", since(begin))
			return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{})
		case corev1.PodFailed:
			return errors.New("the first pod failed: " + s.eventsOf(ctx, pod))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-s.died:
			return p.death()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the first pod did not run within %s: %s", checkPatience, s.eventsOf(ctx, pod))
}

// checkPod has what workloads have: a limit, a system call filter, no privileges.
func checkPod(image string) *corev1.Pod {
	no, yes := false, true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "check-", Namespace: checkNamespace},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   &yes,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:  "check",
				Image: image,
				Args:  []string{"exit", "0"},
				Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")},
				},
			}},
		},
	}
}

func (s *supervisor) eventsOf(ctx context.Context, pod *corev1.Pod) string {
	list, err := s.client.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + pod.Name,
	})
	if err != nil {
		return err.Error()
	}
	var messages []string
	for _, event := range list.Items {
		messages = append(messages, event.Reason+": "+event.Message)
	}
	return strings.Join(messages, "; ")
}
