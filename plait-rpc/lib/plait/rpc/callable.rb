# frozen_string_literal: true

require_relative "refusal"

module Plait
  module RPC
    # A method that can be called from outside, and what is known of the time it takes.
    class Callable
      # Seconds from which on a run is slow: with less, somebody who waits for the next one loses nothing.
      SLOW = 0.0002
      # Quick runs in a row after which a method counts as quick.
      TRUST = 16

      # @return [String] as it is called from outside
      attr_reader :name
      # @return [Array<Array>] as Method#parameters
      attr_reader :parameters

      # @param name [String, Symbol]
      # @param object [Object]
      # @param method [Symbol]
      # @param parameters [Array<Array>]
      def initialize(name, object, method, parameters)
        @name = name.to_s.dup.freeze
        @object = object
        @method = method
        @parameters = parameters
        @least = count(:req)
        @most = @least + count(:opt) unless count(:rest).positive?
        @required = names(:keyreq)
        @keywords = @required + names(:key)
        @open = count(:keyrest).positive?
        @named = @open || @keywords.any?
        @doubt = 2
      end

      # @return [Array(Integer, Integer or nil)] arguments at least and, unless there is no bound, at most
      def arity = [@least, @most]

      # @param arguments [Array] a Hash at their end is taken for the keywords of a method that has some
      # @return [Refusal, nil] what is wrong with them
      def refusal(arguments)
        return if keywords?(arguments) ? fits?(arguments.size - 1) : fits?(arguments.size) && @required.empty?

        Refusal.new(:arguments, "#{@name} takes #{expectation}, not #{arguments.size}")
      end

      # @param arguments [Array] that are not refused
      # @param _incoming [Incoming, nil] of which they are
      # @yieldparam value [Object] an answer, before the method is over
      # @return [Object]
      def call(arguments, _incoming = nil, &block)
        return @object.__send__(@method, *arguments, &block) unless keywords?(arguments)

        *positional, named = arguments
        @object.__send__(@method, *positional, **named.transform_keys(&:to_sym), &block)
      end

      # @return [Boolean] whether a run is over so soon that nobody needs to care for others meanwhile
      def quick? = @doubt.zero?

      # @param seconds [Float] that a run has taken
      def took(seconds)
        if seconds > SLOW then @doubt = TRUST
        elsif @doubt.positive? then @doubt -= 1
        end
      end

      private

      def count(kind) = @parameters.count { |its, _| its == kind }

      def names(kind) = @parameters.filter_map { |its, name| name.name if its == kind }

      def fits?(size) = size >= @least && (@most.nil? || size <= @most)

      # Only names that the method has: a client must not make Symbols of ours by the million.
      def keywords?(arguments)
        return false unless @named && arguments.last.is_a?(Hash) && arguments.size > @least

        names = arguments.last.keys
        names.all? { |name| name.is_a?(String) || name.is_a?(Symbol) } && known?(names.map(&:to_s))
      end

      def known?(names) = (@open || (names - @keywords).empty?) && (@required - names).empty?

      def expectation
        return "at least #{plural(@least)}" unless @most

        bounds = @least == @most ? plural(@least) : "#{@least} to #{plural(@most)}"
        @keywords.empty? ? bounds : "#{bounds} and a map of #{@keywords.join(", ")}"
      end

      def plural(number) = number == 1 ? "1 argument" : "#{number} arguments"
    end
  end
end
