# frozen_string_literal: true

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Ruby's reasons why an object can't be shared, and advice for each.
      module Explanation
        OPAQUE_BLOCK = "this block can't be run in ractors: it was made from a method (or is composed or curried), and " \
                       "what that holds would be shared between them. Write a block that makes what it needs, " \
                       "{ |item| Work.new.call(item) }, or use on: :processes"

        OTHERWISE = "Use on: :processes, which copies the whole program, or on: :threads"
        GIVE = "Put what it needs into the items, keep it in a constant frozen by Ractor.make_shareable, " \
               "or use on: :processes"
        LOAD = "Ruby loads no file inside a ractor: `require` it, or name the autoloaded constant, before the call"

        # Ruby's message => advice. Read from the top; the first that matches counts. Ruby has one class for all these
        # reasons. The texts come from Ruby 3.1 to 4.0; without a match the advice is {OTHERWISE}.
        ADVICE = {
          /outer variables? \((?<name>.+?)\)/ =>
            "Put %<name>s into the items (items.map { |item| [item, …] }), or into a constant frozen by " \
            "Ractor.make_shareable, or use on: :processes",
          /from variable [`'](?<name>\w+)'/ =>
            "Freeze %<name>s with Ractor.make_shareable before, put it into the items, or use on: :processes",
          /outer variable [`'](?<name>\w+)' may be reassigned/ =>
            "Give %<name>s its value once, put it into the items (items.map { |item| [item, …] }), or use on: :processes",
          /from a hidden variable/ => GIVE,
          /uses [`']yield'/ => "Take the outer block as a constant lambda, or use on: :processes or on: :threads",
          /RUBYGEMS_ACTIVATION_MONITOR|require by autoload/ => LOAD,
          /in constant Timeout::/ =>
            "Ruby's Timeout doesn't work in a ractor: give the call the option `timeout:` instead",
          /in constant (?<name>\S+) by non-main/ =>
            "Freeze it where it is made, %<name>s = Ractor.make_shareable(…). If it isn't yours, that library is not made " \
            "for ractors: use on: :processes or on: :threads",
          /global variables?/ => GIVE,
          /class variables|instance variables of classes/ => GIVE,
          /instance variables of shareable objects/ =>
            "In a ractor `self` is the ractor, or an object that can't change: keep such values in local variables of the " \
            "block, or use on: :processes",
          /ractor unsafe method/i =>
            "Its C extension is not declared safe for ractors: use on: :processes or on: :threads",
          /un-?shareable Proc/i =>
            "A method made by define_method can't be called in a ractor: define it with `def`, or use on: :processes",
          /for (?:#<Ractor:#\d|an instance of Ractor)/ =>
            "In a ractor `self` is the ractor, not the object around the block: call the method of a module or of an " \
            "object made in the block, or use on: :processes"
        }.freeze

        # Errors that a body meets in a ractor only. Without a match an error stays as it is.
        AT_RUN_TIME = /non-main ractor|not main ractor|un-?shareable proc|for (?:#<ractor:#\d|an instance of ractor)/i
        # Ruby tells what a variable holds.
        VALUE = /unshareable object .+(?= from (?:variable [`']|a hidden variable))/m
        # A file that a ractor may not load fails at its first lines.
        LOADING = /in [`'](?:Kernel#)?require(?:_relative)?'/

        class << self
          # @param reason [Exception] from Ruby
          def of_block(reason) = build("this block can't be run in ractors", reason)

          # @param names [Array<Symbol>] instance variables of the object around the block
          def of_variables(names)
            UnshareableError.new("this block can't be run in ractors: it uses #{names.join(", ")} of the object around it, " \
                                 "and in a ractor `self` is the ractor. Put the values into the items " \
                                 "(items.map { |item| [item, …] }), or use on: :processes or on: :threads.")
          end

          # @param error [Exception] raised in a ractor
          # @param index [Integer] of the item
          # @return [Exception] the same, or an {UnshareableError} where the ractor was the obstacle
          def of_error(error, index)
            return error unless error.is_a?(StandardError) && AT_RUN_TIME.match?(words(error))

            advice = error.backtrace&.grep(LOADING)&.any? ? LOAD : advice_for(words(error))
            explained = build("the block failed on item #{index} because it runs in a ractor", error, advice)
            explained.set_backtrace(error.backtrace)
            explained
          end

          # @param reason [Exception] from Ruby
          def of_item(item, index, reason)
            build("item #{index}, #{a(item)}, can't be copied into a ractor", reason,
                  "Give plain data (numbers, strings, arrays, hashes, structs) and make the rest in the block, " \
                  "or use on: :threads")
          end

          # Called in the ractor.
          def of_result(result, index, reason)
            build("the result for item #{index}, #{a(result)}, can't be copied out of its ractor", reason,
                  "Return plain data (numbers, strings, arrays, hashes, structs), or use on: :threads")
          end

          def of_policy(reason)
            build("`retries:` can't be copied into a ractor", reason, "Name error classes in `on:`, not lambdas")
          end

          # @param reason [Exception] from the system
          def of_refusal(reason)
            kind = reason.is_a?(ThreadError) ? "threads or processes (ulimit -u, pids.max)" : "open files (ulimit -n)"
            UnsupportedError.new("can't start a ractor (#{reason.message}): too many #{kind}; raise what is allowed, or " \
                                 "lower limit:")
          end

          private

          def build(what, reason, advice = advice_for(words(reason)))
            raise UnshareableError, "#{what}: #{words(reason).chomp(".")}. #{advice}.", cause: reason
          rescue UnshareableError => e
            e
          end

          # A user's message may raise, or be no String, and may have any bytes, in any encoding. A constant of a module without
          # a name is known to its reader by its own name. The value of a variable may be long, or secret.
          def words(error) = message_of(error).gsub(/#<\S+>::(?=[A-Z])/, "").sub(VALUE, "an unshareable object")

          def message_of(error)
            error.message.to_s.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
          rescue StandardError
            error.class.to_s
          end

          def advice_for(message)
            ADVICE.each do |pattern, text|
              match = pattern.match(message) or next
              return match.names.empty? ? text : format(text, name: match[:name])
            end
            OTHERWISE
          end

          def a(object)
            name = object.class.name || "object of a class without a name"
            "#{name.match?(/\A[AEIOU]/) ? "an" : "a"} #{name}"
          end
        end
      end
    end
  end
end
