# frozen_string_literal: true

module Plait
  module Mechanisms
    # Takes values and exceptions through Marshal, between processes, ractors and machines.
    module Portable
      # @return [Object, nil] the block's value; nil where it fails
      def self.try
        yield
      rescue StandardError, SystemStackError
        nil
      end

      # Takes items and results through Marshal, and says in plain words which part can't go.
      module Value
        ADVICE = "Only plain data can: numbers, Strings, Symbols, Arrays, Hashes, Structs and objects made of them. " \
                 "Pass such, or use on: :threads, which shares memory."
        FAILURES = [StandardError, SystemStackError, NoMemoryError].freeze

        class << self
          # @param name [String] its name in messages, such as "the result"
          def dump(value, name)
            Marshal.dump(value)
          rescue *FAILURES => e
            raise UnmarshalableError, "#{Obstacle.describe(value, name)}, which can't travel between processes " \
                                      "(#{e.message}). #{ADVICE}"
          end

          # @return [Boolean] whether it need not be copied: nothing can change it
          def plain?(value)
            case value
            when Integer, Float, Symbol, nil, true, false then true
            else false
            end
          end

          def load(data, name)
            Marshal.load(data)
          rescue *FAILURES => e
            raise UnmarshalableError, "#{name} arrived, but can't be loaded on this side of the pipe (#{e.message}). " \
                                      "Load its class (require) before the call, so that both processes know it."
          end
        end
      end

      # Finds the part of a value that Marshal can't dump.
      class Obstacle
        DEPTH = 20

        # @param name [String] the value's name in messages
        # @return [String] such as "the result[3].@callback is a Proc"
        def self.describe(value, name) = new.describe(value, name, DEPTH)

        def self.dumps?(value) = !Portable.try { Marshal.dump(value) }.nil?

        def describe(value, path, depth)
          place, part = parts(value).find { |_, inner| !Obstacle.dumps?(inner) } if depth.positive?
          place ? describe(part, path + place, depth - 1) : "#{path} is #{kind(value)}"
        end

        private

        def parts(value)
          case value
          when Array then value.each_with_index.map { |inner, i| ["[#{i}]", inner] }
          when Hash then value.flat_map { |key, inner| [["[#{short(key)}]", inner], [".keys", key]] }
          when Struct then value.members.map { |name| [".#{name}", value[name]] }
          else value.instance_variables.map { |name| [".#{name}", value.instance_variable_get(name)] }
          end
        end

        def short(key) = key.is_a?(Symbol) || key.is_a?(String) || key.is_a?(Integer) ? key.inspect[0, 40] : key.class.name

        def kind(value)
          name = value.class.name
          return "an object of an anonymous class" unless name

          "#{name.match?(/\A[AEIO]/) ? "an" : "a"} #{name}"
        end
      end

      # Takes exceptions through Marshal. Most go as they are, with backtrace and cause. One that holds what can't be
      # dumped, or whose class the reader does not know (required only in the worker), is rebuilt from its description.
      module Error
        class << self
          def dump(error)
            description = Description.of(error) { |one| { variables: variables(one) } }
            Marshal.dump([Portable.try { Marshal.dump(error) }, description])
          end

          def load(data)
            whole, description = Marshal.load(data)
            error = whole && Portable.try { Marshal.load(whole) }
            error.is_a?(Exception) ? error : Description.rebuild(description) { |made, about| give(made, about[:variables]) }
          end

          private

          def variables(error)
            error.instance_variables.filter_map do |name|
              dumped = Portable.try { Marshal.dump(error.instance_variable_get(name)) }
              [name, dumped] if dumped
            end
          end

          def give(error, variables)
            variables.each { |name, dumped| Portable.try { error.instance_variable_set(name, Marshal.load(dumped)) } }
          end
        end
      end

      # An exception as plain data, for a reader that does not know its class.
      module Description
        # Causes of causes that are described.
        DEPTH = 10

        class << self
          # @yieldparam error [Exception] it, and each cause
          # @yieldreturn [Hash] further data about it
          # @return [Hash] :classes (names, its own first), :message, :backtrace, :cause (another one, or nil)
          def of(error, depth = DEPTH, &more)
            cause = of(error.cause, depth - 1, &more) if error.cause && depth.positive?
            { classes: error.class.ancestors.grep(Class).map(&:name), message: message(error), backtrace: error.backtrace,
              cause: cause, **(more ? yield(error) : {}) }
          end

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
            "(its message is lost: #{e.class})"
          end

          def known_class(names)
            names.compact.each do |name|
              found = Portable.try { Object.const_get(name) }
              return found if found.is_a?(Class) && found <= Exception
            end
            StandardError
          end

          # The class's own `initialize` may want anything.
          def instance(kind, message)
            error = kind.allocate
            Exception.instance_method(:initialize).bind_call(error, message)
            yield error
            error.define_singleton_method(:message) { message } unless Portable.try { error.message } == message
            error
          end

          def connect(error, description, &more)
            raise error, cause: description[:cause] && rebuild(description[:cause], &more)
          rescue error.class => e
            e.set_backtrace(description[:backtrace])
            e
          end
        end
      end
    end
    private_constant :Portable
  end
end
