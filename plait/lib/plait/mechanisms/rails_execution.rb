# frozen_string_literal: true

module Plait
  # Where a Rails application is loaded, an item is a unit of work to it, as a request is. Rails gives back connections and
  # resets CurrentAttributes after it, and reloads no class meanwhile.
  #
  # This is the executor of Rails without its report of errors: an error goes to the caller, which may expect it.
  class RailsExecution
    # Fiber-local, while an item begins that is covered.
    COVERED = :plait_covered

    # An item belongs to the unit of work of its caller, if there is one: a reload waits for that. So the item must not wait
    # for the reload, which would wait for the caller, which waits for the item. A forked worker has no reload at all.
    module Covering
      def run = Thread.current[COVERED] ? COVERED : super

      def complete(state) = (super unless state.equal?(COVERED))
    end

    class << self
      # @return [RailsExecution, nil] for the items of a run that begins in the current fiber; nil: without Rails
      def current
        return unless defined?(::Rails) && MainRactor.here? && ::Rails.respond_to?(:application)

        application = ::Rails.application
        new(application) if application.respond_to?(:executor) && fit?(application)
      end

      # @return [#call] the block, as a unit of work; without Rails the block itself
      def around(block)
        execution = current or return block

        -> { execution.run(&block) }
      end

      # A process that is forked in the middle of a reload would lack the classes that are not loaded again yet.
      # @return [Object] the value of the block, which forks
      def between_reloads(&block)
        execution = current
        return yield if execution.nil? || execution.covered?

        ::ActiveSupport::Dependencies.interlock.running(&block)
      end

      # @api private
      def cover
        return unless defined?(::Rails::Application::Finisher::InterlockHook)

        hook = ::Rails::Application::Finisher::InterlockHook.singleton_class
        hook.prepend(Covering) unless hook.include?(Covering)
      end

      private

      # With `allow_concurrency = false` an item would wait for the end of its caller.
      def fit?(application)
        application.initialized? && application.config.allow_concurrency != false && application.executor.respond_to?(:active_key)
      end
    end

    def initialize(application)
      @executor = application.executor
      @within = @executor.active?
      @generation = Native.fork_generation
      RailsExecution.cover
    end

    # @return [Boolean] whether its items need not wait for a reload, see {Covering}
    def covered? = @within || @generation != Native.fork_generation

    # @return [Object] the block's value
    def run
      return yield if @executor.active?

      begin
        enter
        yield
      ensure
        Uninterruptible.run { leave }
      end
    end

    private

    def enter
      Mechanisms::State::Own.current&.begin_unit
      Thread.current[COVERED] = true if covered?
      @executor.run!
    ensure
      Thread.current[COVERED] = nil
    end

    # An interrupt may have come before `run!` had returned what it started.
    def leave
      ::ActiveSupport::IsolatedExecutionState[@executor.active_key]&.complete!
    ensure
      Mechanisms::State::Own.current&.end_unit
    end
  end
  private_constant :RailsExecution
end
