export { LeastLoadedLoadBalancer } from "./least-loaded-load-balancer.ts";
export {
  type DispatchOutcome,
  isLoadBalancer,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  type TaskInfo,
} from "./load-balancer.ts";
export { LoadBalancerContext } from "./load-balancer-context.ts";
export { RoundRobinLoadBalancer } from "./round-robin-load-balancer.ts";
