# frozen_string_literal: true

module Plait
  module Mechanisms
    # An exception as plain data, for who does not know its class, or can't be given it as it is.
    module ErrorDescription
      # Causes of causes that are described.
      DEPTH = 10

      class << self
        # @param error [Exception]
        # @yieldparam error [Exception] it, and each cause
        # @yieldreturn [Hash] what else to tell of it
        # @return [Hash] :classes (names, its own first), :message, :backtrace, :cause (another one, or nil)
        def of(error, depth = DEPTH, &more)
          cause = of(error.cause, depth - 1, &more) if error.cause && depth.positive?
          { classes: error.class.ancestors.grep(Class).map(&:name), message: message(error), backtrace: error.backtrace,
            cause: cause, **(more ? yield(error) : {}) }
        end

        # @param description [Hash]
        # @yieldparam error [Exception] as it is made, before it has its message
        # @yieldparam description [Hash] its own
        # @return [Exception] of the first of the classes that is known here, with its cause
        def rebuild(description, &more)
          kind = known_class(description[:classes])
          name = description[:classes].first || "an anonymous error"
          message = description[:message]
          message = "#{name}: #{message}" if kind.name != name
          connect(instance(kind, message) { |error| more&.call(error, description) }, description, &more)
        end

        private

        def message(error)
          String.new(error.message)
        rescue StandardError => e
          "(its message can't be told: #{e.class})"
        end

        def known_class(names)
          names.compact.each do |name|
            found = try { Object.const_get(name) }
            return found if found.is_a?(Class) && found <= Exception
          end
          StandardError
        end

        # The class's own `initialize` may want anything.
        def instance(kind, message)
          error = kind.allocate
          Exception.instance_method(:initialize).bind_call(error, message)
          yield error
          error.define_singleton_method(:message) { message } unless try { error.message } == message
          error
        end

        def connect(error, description, &more)
          raise error, cause: description[:cause] && rebuild(description[:cause], &more)
        rescue error.class => e
          e.set_backtrace(description[:backtrace])
          e
        end

        def try
          yield
        rescue StandardError, SystemStackError
          nil
        end
      end
    end
  end
end
